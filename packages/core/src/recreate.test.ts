import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../test/gateway.ts";
import { refusal } from "../test/outcomes.ts";

const { openGateway, openStore } = openers(onTestFinished);

it("makes the same again under the same name, once for an idempotency key", async () => {
  const { core, principal } = await openGateway(undefined, openStore());
  const published = await core.publishProfile(principal, {
    schema: 1,
    name: "mine",
    env: { A: "1" },
    ttlMs: 60_000,
  });
  const former = await core.create(principal, {
    name: "build",
    profile: "mine",
    env: { B: "2" },
    labels: { a: "b" },
    consumer: { kind: "agent", project: "p" },
    reuse: { scope: "agent", key: "k" },
  });
  await core.publishProfile(principal, { schema: 1, name: "mine", env: { A: "9" } });
  const once = { idempotencyKey: "again" };
  const again = await core.recreate(principal, former.id, once);
  const { id: _, createdAtMs: __, startedAtMs: ___, expiresAtMs: ____, location: _____, ...same } = former;
  expect(again).toMatchObject(same);
  expect(again.profile?.digest, "the version it was of").toBe(published.digest);
  expect(again.id).not.toBe(former.id);
  expect((await core.get(principal, former.id)).state).toBe("destroyed");
  expect(await core.recreate(principal, former.id, once)).toEqual(again);
  expect((await core.get(principal, "build")).id).toBe(again.id);
});

it("gives the living one of its label back, as the same words would, and ends nothing for it", async () => {
  const { core, principal, plain } = await openGateway(undefined, openStore());
  const label = { reuse: { scope: "agent", key: "k" }, ttlMs: 60_000 } as const;
  const former = await core.create(principal, label);
  await core.destroy(principal, former.id);
  const living = await core.create(principal, label);
  const once = { idempotencyKey: "again" };
  const again = await core.recreate(principal, former.id, once);
  expect(again.id).toBe(living.id);
  expect(await core.recreate(principal, former.id, once)).toEqual(again);
  expect((await core.get(principal, living.id)).state).toBe("running");
  expect(plain.calls.create).toBe(2);
  const anew = await core.recreate(principal, living.id);
  expect(anew).toMatchObject({ state: "running", reuse: label.reuse });
  expect(anew.id, "of the living one itself, another").not.toBe(living.id);
  expect((await core.create(principal, label)).id, "which has the label from then on").toBe(anew.id);
  expect(plain.calls.create).toBe(3);
});

it("ends nothing when another cannot be made, and lets nobody do it who may not", async () => {
  const { core, principal, plain } = await openGateway(undefined, openStore());
  const { id } = await core.create(principal, {});
  const viewer = await core.authenticate(
    (await core.createKey(principal, { operations: ["sandbox.read", "sandbox.create"] })).apiKey,
  );
  await refusal(core.recreate(viewer, id), "policy_denied");
  plain.probeAnswer = async () => ({ status: "unavailable", reason: "gone", fix: "none", findings: [] });
  await core.doctor();
  await refusal(core.recreate(principal, id), "no_candidate");
  expect((await core.get(principal, id)).state).toBe("running");
});

it("runs its setup before anybody gets it, and leaves nothing of one that fails", async () => {
  const { core, principal, plain, store } = await openGateway(undefined, openStore());
  const { id } = await core.create(principal, {
    setup: [
      ["touch", "ready"],
      ["test", "-f", "ready"],
    ],
  });
  expect(existsSync(join(plain.root, `box-${id}`, "ready"))).toBe(true);
  const setup = [["sh", "-c", "echo broken >&2; exit 3"]];
  const error = await refusal(core.create(principal, { setup }), "setup_failed");
  expect(error.message).toContain("exited with 3");
  expect(error.details).toMatchObject({ exit: { kind: "exited", code: 3 } });
  expect(await plain.list({ installationId: "any" })).toHaveLength(1);
  const failed = (await core.list(principal, { states: ["failed"] })).sandboxes;
  expect(failed).toHaveLength(1);
  expect((await core.getBudget(principal)).heldMicroUsd).toBeGreaterThan(0);
  expect((await store.listLedger(principal.orgId, failed[0]?.id)).at(-1)).toMatchObject({ kind: "release" });
});

it("describes how to get to it: what it offers while it runs, and nothing when it is over", async () => {
  const { core, principal } = await openGateway(undefined, openStore());
  const { id } = await core.create(principal, {});
  const reached = await core.reachability(principal, id);
  expect(reached).toMatchObject({
    sandboxId: id,
    hostLabel: `{port}-${id}`,
    where: { extensionId: "plain" },
  });
  expect(reached.ways.map(({ kind }) => kind)).toEqual(["exec", "files", "events"]);
  await core.destroy(principal, id);
  expect((await core.reachability(principal, id)).ways.map(({ kind }) => kind)).toEqual(["events"]);
});
