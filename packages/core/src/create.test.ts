import { join } from "node:path";
import { type ErrorCode, type Manifest, SandboxerError } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../test/gateway.ts";
import { refusal, stillHeld } from "../test/outcomes.ts";
import { createPlainExtension } from "../test/plain-extension.ts";
import { createCore } from "./create-core.ts";

const { openGateway, temporaryFolder } = openers(onTestFinished);

const priced = (id: string, microUsdPerHour: number) =>
  createPlainExtension(join(temporaryFolder(), id), { id, price: { basis: "provisioned", microUsdPerHour } });
const failing = (code: ErrorCode) => () => Promise.reject(new SandboxerError(code, `it is ${code}`));

it.for<ErrorCode>(["capacity_exhausted", "extension_unavailable", "extension_failed"])(
  "tries the next candidate after %s and records every attempt",
  async (code) => {
    const [cheap, dear] = [priced("cheap", 10), priced("dear", 3_600_000)];
    cheap.before.create = failing(code);
    const { core, store, principal } = await openGateway([dear, cheap]);
    const sandbox = await core.create(principal, { ttlMs: 10_000 });
    expect(sandbox.location?.extensionId).toBe("dear");
    // The hold covers the dearest candidate, since failover can end there.
    expect(await stillHeld(store, principal.orgId, sandbox.id)).toBe(10_000);
    const [, created] = await store.listEvents(principal.orgId, 0, 10);
    expect(created?.data).toMatchObject({
      attempts: [{ extensionId: "cheap", error: { code } }, { extensionId: "dear" }],
      microUsdPerHour: 3_600_000,
    });
    expect(cheap.calls.destroy).toBe(1);
  },
);

it("takes an extension that throws something else for one that failed", async () => {
  const [cheap, dear] = [priced("cheap", 10), priced("dear", 20)];
  cheap.before.create = () => Promise.reject(new TypeError("undefined is not a function"));
  const { core, principal } = await openGateway([cheap, dear]);
  expect((await core.create(principal, {})).location?.extensionId).toBe("dear");
});

it.for<ErrorCode>(["invalid_request", "deadline_exceeded", "unsupported", "internal"])(
  "fails at once on %s, releases the hold and frees the name",
  async (code) => {
    const [cheap, dear] = [priced("cheap", 10), priced("dear", 20)];
    cheap.before.create = failing(code);
    const { core, store, principal } = await openGateway([cheap, dear]);
    const error = await refusal(core.create(principal, { name: "dev" }), code);
    expect(dear.calls.create).toBe(0);
    const sandboxId = String(error.details.sandboxId);
    expect(await core.get(principal, sandboxId)).toMatchObject({ state: "failed", reason: `it is ${code}` });
    expect(await stillHeld(store, principal.orgId, sandboxId)).toBe(0);
    delete cheap.before.create;
    expect(await core.create(principal, { name: "dev" })).toMatchObject({ state: "running" });
  },
);

it("takes down the box when the row was ended meanwhile", async () => {
  const { core, store, principal, plain } = await openGateway();
  plain.before.create = async () => {
    const [row] = await store.listUnfinished();
    await store.failCreate({ sandboxId: row!.id, atMs: Date.now(), reason: "given up" });
  };
  await refusal(core.create(principal, {}), "sandbox_gone");
  expect(await plain.list({ installationId: "any" })).toEqual([]);
});

it("takes down the box and fails the row when settling cannot be written", async () => {
  const { plain, store, principal } = await openGateway();
  const core = await createCore({
    store: { ...store, settleCreate: () => Promise.reject(new Error("disk full")) },
    extensions: [plain],
  });
  await refusal(core.create(principal, { name: "dev" }), "internal");
  expect(await plain.list({ installationId: "any" })).toEqual([]);
  expect(await store.listUnfinished()).toEqual([]);
});

it("RE-12 waits for the disk unless a power cut leaves nothing of it anyway", async () => {
  const { store, principal } = await openGateway();
  const settled: (boolean | undefined)[] = [];
  const settleCreate: typeof store.settleCreate = (settle) => {
    settled.push(settle.endsWithThisMachine);
    return store.settleCreate(settle);
  };
  for (const endsWithThisMachine of [true, undefined]) {
    const persistence: Manifest["persistence"] = ["ephemeral", "persistent"];
    const manifest: Partial<Manifest> = { endsWithThisMachine, facets: ["stop"], persistence };
    const extensions = [createPlainExtension(join(temporaryFolder(), "plain"), manifest)];
    const core = await createCore({ store: { ...store, settleCreate }, extensions });
    onTestFinished(() => core.close());
    for (const each of persistence) await core.create(principal, { persistence: each });
  }
  expect(settled).toEqual([true, false, false, false]);
});

it("is not judged by the reconciler while it is slow", async () => {
  const { plain, store, principal } = await openGateway();
  let aheadMs = 0;
  const clock = { nowMs: () => Date.now() + aheadMs, monotonicMs: () => performance.now() };
  const core = await createCore({ store, extensions: [plain], clock });
  onTestFinished(() => core.close());
  const { promise: slowly, resolve: go } = Promise.withResolvers<void>();
  plain.before.create = () => slowly;
  const creating = core.create(principal, {});
  await expect.poll(() => plain.calls.create).toBe(1);
  aheadMs = 600_000;
  await core.start();
  aheadMs = 0;
  go();
  expect(await creating).toMatchObject({ state: "running" });
});
