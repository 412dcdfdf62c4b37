import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSandboxId } from "@sandboxer/contract";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openers, type TestGateway } from "../../test/gateway.ts";
import { refusal, stillHeld, until } from "../../test/outcomes.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";
import { beginCreateOf, settleOf } from "../../test/rows.ts";

const { openGateway, temporaryFolder } = openers(onTestFinished);

const context = { installationId: "any" };
const stateOf = async ({ core, principal }: TestGateway, id: string) => (await core.get(principal, id)).state;
const killBox = ({ plain }: TestGateway, id: string) =>
  rmSync(join(plain.root, `box-${id}`), { recursive: true });

describe("the reaper", () => {
  it("ends a sandbox when its time is up and settles what it cost", async () => {
    const gateway = await openGateway();
    const { core, principal, store, plain } = gateway;
    const { id } = await core.create(principal, { ttlMs: 1_000 });
    await until(async () => (await stateOf(gateway, id)) === "expired");
    expect(await plain.list(context)).toEqual([]);
    const ended = await core.get(principal, id);
    expect(ended.costMicroUsd).toBeLessThanOrEqual(1_000);
    expect(ended.costMicroUsd).toBeGreaterThan(0);
    expect(await stillHeld(store, principal.orgId, id)).toBe(0);
    await refusal(core.exec(principal, id, { argv: ["true"] }), "sandbox_gone");
  });

  it("tries again when the extension would not, and still calls it expired", async () => {
    const gateway = await openGateway();
    gateway.plain.before.destroy = async () => {
      delete gateway.plain.before.destroy;
      throw new Error("busy");
    };
    const { id } = await gateway.core.create(gateway.principal, { ttlMs: 1_000 });
    await until(async () => (await stateOf(gateway, id)) === "expired");
    expect(gateway.troubles).toEqual([`ending ${id} on time: plain: busy`]);
  });
});

describe("a box that went without us", () => {
  it("is lost before its time, and the caller hears that it is gone", async () => {
    const gateway = await openGateway();
    const { core, principal, store, restart } = gateway;
    const { id } = await core.create(principal, {});
    killBox(gateway, id);
    const after = await restart();
    const [one, two] = [1, 2].map(() => after.exec(principal, id, { argv: ["true"] }));
    await Promise.all([refusal(one!, "sandbox_gone"), refusal(two!, "sandbox_gone")]);
    expect(await stateOf(gateway, id)).toBe("lost");
    expect(await stillHeld(store, principal.orgId, id)).toBe(0);
  });
});

describe("reconcile later on", () => {
  it("stops the meter of a box that died while the gateway lives", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const gateway = await openGateway();
    const { core, principal } = gateway;
    await core.start();
    const [dead, alive] = [await core.create(principal, {}), await core.create(principal, {})];
    killBox(gateway, dead.id);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(await stateOf(gateway, dead.id)).toBe("running");
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await stateOf(gateway, dead.id)).toBe("lost");
    expect(await stateOf(gateway, alive.id)).toBe("running");
  });
});

describe("an extension that does not answer", () => {
  /** One that answers, and one that stops doing so. */
  async function openBoth() {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const price = { basis: "provisioned", microUsdPerHour: 3_600_000 } as const;
    const well = createPlainExtension(temporaryFolder(), { id: "well", price });
    const stuck = createPlainExtension(temporaryFolder(), { id: "stuck", price });
    return { ...(await openGateway([well, stuck])), well, stuck };
  }
  const never = () => new Promise<void>(() => {});

  it("RE-6 keeps no other from being reconciled, and the gateway from no start", async () => {
    const both = await openBoth();
    const { core, principal, restart, well, stuck } = both;
    const { id } = await core.create(principal, { extensions: ["well"] });
    const other = await core.create(principal, { extensions: ["stuck"] });
    killBox({ ...both, plain: well }, id);
    stuck.before.list = never;
    const started = (await restart()).start();
    await vi.advanceTimersByTimeAsync(40_000);
    await started;
    expect(await stateOf(both, id)).toBe("lost");
    expect(await stateOf(both, other.id), "nothing is known of it").toBe("running");
    expect(both.troubles).toEqual([expect.stringMatching(/listing what stuck holds.*did not answer/)]);
  });

  it("RE-5 binds no money for ever: a create without an answer fails, and what comes of it late is ended", async () => {
    const both = await openBoth();
    const { core, principal, store, stuck } = both;
    await core.start();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    stuck.before.create = () => answered;
    const creating = refusal(core.create(principal, { extensions: ["stuck"] }), "deadline_exceeded");
    await vi.advanceTimersByTimeAsync(3_602_000);
    await creating;
    const [made] = (await core.list(principal)).sandboxes;
    expect(made?.state).toBe("failed");
    expect(await stillHeld(store, principal.orgId, made?.id ?? "")).toBe(0);
    answer();
    await vi.advanceTimersByTimeAsync(0);
    expect(await stuck.list(context), "control").toHaveLength(1);
    await vi.advanceTimersByTimeAsync(61_000);
    expect(await stuck.list(context)).toEqual([]);
  });

  it("RE-6 keeps an end waiting no longer than it is given, and is asked again", async () => {
    const both = await openBoth();
    const { core, principal, store, stuck } = both;
    const { id } = await core.create(principal, { extensions: ["stuck"] });
    stuck.before.destroy = never;
    const first = refusal(core.destroy(principal, id), "deadline_exceeded");
    await vi.advanceTimersByTimeAsync(62_000);
    await first;
    expect(await stateOf(both, id)).toBe("destroying");
    delete stuck.before.destroy;
    expect((await core.destroy(principal, id)).state).toBe("destroyed");
    expect(await stillHeld(store, principal.orgId, id)).toBe(0);
  });
});

describe("reconcile at the start", () => {
  it("keeps what runs, and watches its clock again", async () => {
    const gateway = await openGateway();
    const { core, principal, restart, plain } = gateway;
    const { id } = await core.create(principal, {});
    const brief = await core.create(principal, { ttlMs: 1_500 });
    await core.close();
    const after = await restart();
    await after.start();
    expect(await stateOf(gateway, id)).toBe("running");
    await after.exec(principal, id, { argv: ["true"] });
    expect(plain.calls.attach).toBe(1);
    await until(async () => (await stateOf(gateway, brief.id)) === "expired");
  });

  it("settles rows whose box is gone: lost before their time, expired after it", async () => {
    const gateway = await openGateway();
    const { core, principal, store, restart } = gateway;
    const [early, late] = [await core.create(principal, {}), await core.create(principal, { ttlMs: 3_000 })];
    await core.close();
    for (const { id } of [early, late]) killBox(gateway, id);
    await until(async () => Date.now() > (late.expiresAtMs ?? 0) + 50);
    await (await restart()).start();
    expect(await stateOf(gateway, early.id)).toBe("lost");
    expect(await stateOf(gateway, late.id)).toBe("expired");
    for (const { id } of [early, late]) expect(await stillHeld(store, principal.orgId, id)).toBe(0);
  });

  it("concludes nothing about an extension that cannot list", async () => {
    const gateway = await openGateway();
    const { id } = await gateway.core.create(gateway.principal, {});
    await gateway.core.close();
    killBox(gateway, id);
    gateway.plain.before.list = () => Promise.reject(new Error("vendor is down"));
    await (await gateway.restart()).start();
    expect(await stateOf(gateway, id)).toBe("running");
    expect(gateway.troubles).toEqual(["listing what plain holds: plain: vendor is down"]);
  });

  it("finishes what was being destroyed", async () => {
    const gateway = await openGateway();
    const { core, principal, store, restart, plain } = gateway;
    const { id } = await core.create(principal, {});
    await store.beginDestroy({
      sandboxId: id,
      ending: "expired",
      reason: "its time was up",
      atMs: Date.now(),
    });
    await core.close();
    await (await restart()).start();
    expect(await core.get(principal, id)).toMatchObject({ state: "expired", reason: "its time was up" });
    expect(await plain.list(context)).toEqual([]);
    expect(await stillHeld(store, principal.orgId, id)).toBe(0);
  });

  it("fails a create that nobody waits for, with its box, but not a young one", async () => {
    const gateway = await openGateway();
    const { principal, store, restart, plain } = gateway;
    const nowMs = Date.now();
    const old = beginCreateOf({ ...principal, id: newSandboxId(), createdAtMs: nowMs - 61_000 });
    const young = beginCreateOf({ ...principal, id: newSandboxId(), createdAtMs: nowMs - 1_000 });
    const installationId = await store.claimMeta("installation-id", "unused");
    for (const begin of [old, young]) {
      await store.beginCreate(begin);
      const { spec, id: sandboxId, orgId } = begin.sandbox;
      await plain.create(spec, { sandboxId, orgId, installationId });
    }
    await (await restart()).start();
    expect(await stateOf(gateway, old.sandbox.id)).toBe("failed");
    expect(await stateOf(gateway, young.sandbox.id)).toBe("provisioning");
    expect((await plain.list(context)).map(({ sandboxId }) => sandboxId)).toEqual([young.sandbox.id]);
    expect(await stillHeld(store, principal.orgId, old.sandbox.id)).toBe(0);
  });

  it("takes down a box whose row is over, quarantines an orphan and never touches a stranger's", async () => {
    const gateway = await openGateway();
    const { core, principal, store, restart, plain } = gateway;
    const ours = await store.claimMeta("installation-id", "unused");
    const over = await core.create(principal, {});
    await core.destroy(principal, over.id);
    const [orphan, foreign] = [newSandboxId(), newSandboxId()];
    const { orgId } = principal;
    await plain.create(over.spec, { sandboxId: over.id, orgId, installationId: ours });
    await plain.create(over.spec, { sandboxId: orphan, orgId, installationId: ours });
    await plain.create(over.spec, { sandboxId: foreign, orgId, installationId: "ins_another" });
    const after = await restart();
    await after.start();
    await after.start();
    const left = (await plain.list(context)).map(({ sandboxId }) => sandboxId);
    expect(left.sort()).toEqual([orphan, foreign].sort());
    const told = await store.listEvents(ours, 0, 10);
    expect(told.map(({ type, data }) => [type, data.sandboxId])).toEqual([["sandbox.orphaned", orphan]]);
  });

  it("takes down what a failed try left elsewhere, and keeps the one that runs", async () => {
    const folder = temporaryFolder();
    const [cheap, dear] = ["cheap", "dear"].map((id) => createPlainExtension(join(folder, id), { id }));
    const gateway = await openGateway([cheap!, dear!]);
    const { core, principal, store, restart } = gateway;
    const { id: sandboxId, spec, orgId } = await core.create(principal, { extensions: ["dear"] });
    const installationId = await store.claimMeta("installation-id", "unused");
    await cheap!.create(spec, { sandboxId, orgId, installationId });
    await (await restart()).start();
    expect(await cheap!.list(context)).toEqual([]);
    expect(await dear!.list(context)).toHaveLength(1);
    expect(await stateOf(gateway, sandboxId)).toBe("running");
  });

  it("leaves a create alone that settled while it looked", async () => {
    const gateway = await openGateway();
    const { principal, store, restart, plain } = gateway;
    const begin = beginCreateOf({ ...principal, id: newSandboxId(), createdAtMs: Date.now() - 61_000 });
    const { id: sandboxId, spec, orgId } = begin.sandbox;
    await store.beginCreate(begin);
    const installationId = await store.claimMeta("installation-id", "unused");
    plain.before.list = async () => {
      delete plain.before.list;
      await plain.create(spec, { sandboxId, orgId, installationId });
      await store.settleCreate({ ...settleOf(sandboxId), expiresAtMs: Date.now() + 60_000 });
    };
    await (await restart()).start();
    expect(await stateOf(gateway, sandboxId)).toBe("running");
    expect(await plain.list(context)).toHaveLength(1);
  });

  it("goes on when one row cannot be put right", async () => {
    const gateway = await openGateway();
    const { core, principal, store, restart, plain } = gateway;
    const [stuck, lost] = [await core.create(principal, {}), await core.create(principal, {})];
    await store.beginDestroy({ sandboxId: stuck.id, ending: "destroyed", reason: "asked for", atMs: 1 });
    await core.close();
    killBox(gateway, lost.id);
    writeFileSync(join(plain.root, `box-${stuck.id}`, "note"), "still here");
    plain.before.destroy = () => Promise.reject(new Error("busy"));
    await (await restart()).start();
    expect(await stateOf(gateway, lost.id)).toBe("lost");
    expect(await stateOf(gateway, stuck.id)).toBe("destroying");
    expect(gateway.troubles).toEqual([`reconciling ${stuck.id}: plain: busy`]);
  });
});
