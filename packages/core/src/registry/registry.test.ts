import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";
import { createRegistry } from "./registry.ts";

const { temporaryFolder } = openers(onTestFinished);

function openRegistry() {
  const plain = createPlainExtension(temporaryFolder());
  const clock = { monotonic: 0, nowMs: () => 0, monotonicMs: () => clock.monotonic };
  return { plain, clock, registry: createRegistry([plain], clock) };
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
  expect(() => createRegistry([plain, plain], clock)).toThrow(/two extensions/);
  const odd = createPlainExtension(plain.root, { contract: 99 as 0 });
  expect(() => createRegistry([odd], clock)).toThrow(/contract/);
});
