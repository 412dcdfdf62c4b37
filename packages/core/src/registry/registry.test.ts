import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";
import { createRegistry } from "./registry.ts";

const { temporaryFolder } = openers(onTestFinished);

function openRegistry() {
  const plain = createPlainExtension(temporaryFolder());
  const clock = { monotonic: 0, nowMs: () => 0, monotonicMs: () => clock.monotonic };
  return { plain, clock, registry: createRegistry([plain], { clock }) };
}

it("probes at most every 30 s, once for all who ask together, and anew for the doctor", async () => {
  const { plain, clock, registry } = openRegistry();
  await Promise.all([registry.offers(), registry.offers()]);
  clock.monotonic = 29_999;
  await registry.offers();
  expect(plain.calls.probe).toBe(1);
  clock.monotonic = 30_000;
  await registry.offers();
  expect(plain.calls.probe).toBe(2);
  await registry.doctor();
  expect(plain.calls.probe).toBe(3);
});

it("takes a probe that throws for unavailable", async () => {
  const { plain, registry } = openRegistry();
  plain.probeAnswer = () => Promise.reject(new Error("no kernel"));
  expect((await registry.offers())[0]?.probe).toMatchObject({ status: "unavailable", reason: "no kernel" });
});

it("refuses two of one name, and a manifest that is not one", () => {
  const { plain, clock } = openRegistry();
  expect(() => createRegistry([plain, plain], { clock })).toThrow(/two extensions/);
  const odd = createPlainExtension(plain.root, { contract: 99 as 0 });
  expect(() => createRegistry([odd], { clock })).toThrow(/contract/);
});

it("PO-3 uses nothing unsafe unless the operator says so, and still says what is unsafe", async () => {
  const { plain, clock } = openRegistry();
  plain.probeAnswer = async () => ({ status: "offer", findings: [], unsafe: ["runc 1.1.5 is below 1.3.6"] });
  const strict = createRegistry([plain], { clock });
  const [refused] = await strict.offers();
  expect(refused?.probe).toMatchObject({ status: "unavailable", reason: "runc 1.1.5 is below 1.3.6" });
  expect((await strict.doctor()).get("plain")).toMatchObject({
    fix: expect.stringMatching(/allowUnsafeRuntime/),
  });
  const tolerant = createRegistry([plain], { clock, allowUnsafeRuntime: ["plain"] });
  const [offered] = await tolerant.offers();
  expect(offered?.probe.status).toBe("offer");
  expect(await tolerant.toleratedOf("plain")).toEqual(["runc 1.1.5 is below 1.3.6"]);
  plain.probeAnswer = async () => ({ status: "offer", findings: [] });
  expect(await createRegistry([plain], { clock }).toleratedOf("plain"), "control").toEqual([]);
});
