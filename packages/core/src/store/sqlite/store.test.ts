import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { newRowId, newSandboxId } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../../test/gateway.ts";
import { refusal, stillHeld } from "../../../test/outcomes.ts";
import { beginCreateOf, settleOf } from "../../../test/rows.ts";
import { firstBrokenSeq } from "../../events/chain.ts";

const { openStore, temporaryFolder } = openers(onTestFinished);

const orgId = "org_one";
const newPath = () => join(temporaryFolder(), "store.db");

it("keeps its files to its owner and its rows across a reopening", async () => {
  const path = newPath();
  const first = openStore(path);
  const begun = beginCreateOf({ orgId, name: "dev" });
  await first.beginCreate(begun);
  const running = await first.settleCreate(settleOf(begun.sandbox.id));
  for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  const second = openStore(path);
  expect(await second.getSandbox(orgId, "dev")).toEqual(running);
  expect(running).toMatchObject({ ...begun.sandbox, state: "running", startedAtMs: 2_000 });
  expect(await second.claimMeta("installation-id", "second")).toBe("second");
  expect(await first.claimMeta("installation-id", "first")).toBe("second");
});

it("refuses a database of a newer version", () => {
  const path = newPath();
  const newer = new DatabaseSync(path);
  newer.exec("PRAGMA user_version = 999");
  newer.close();
  expect(() => openStore(path)).toThrow(/newer sand-boxer/);
});

it("lets one of two racing verbs win, over two connections", async () => {
  const path = newPath();
  const [one, two] = [openStore(path), openStore(path)];
  const begun = beginCreateOf({ orgId });
  const sandboxId = begun.sandbox.id;
  await one.beginCreate(begun);
  const settled = await Promise.all([
    one.settleCreate(settleOf(sandboxId)),
    two.failCreate({ sandboxId, atMs: 3_000, reason: "too slow" }),
  ]);
  expect(settled.filter(Boolean)).toHaveLength(1);
  const wish = { sandboxId, ending: "destroyed", reason: "asked for", atMs: 4_000 } as const;
  const begunDestroying = await Promise.all([one.beginDestroy(wish), two.beginDestroy(wish)]);
  expect(begunDestroying.filter(Boolean)).toHaveLength(1);
  const ended = await Promise.all([
    one.finishDestroy({ sandboxId, atMs: 5_000 }),
    two.finishDestroy({ sandboxId, atMs: 5_000 }),
  ]);
  expect(ended.filter(Boolean)).toHaveLength(1);
  expect(await stillHeld(one, orgId, sandboxId)).toBe(0);
});

it("holds, captures and releases in the commits that change the state", async () => {
  const store = openStore();
  const begun = beginCreateOf({ orgId });
  const sandboxId = begun.sandbox.id;
  await store.beginCreate(begun);
  expect(await stillHeld(store, orgId, sandboxId)).toBe(10_000);
  await store.settleCreate(settleOf(sandboxId));
  await store.beginDestroy({ sandboxId, ending: "expired", reason: "its time was up", atMs: 4_000 });
  const ended = await store.finishDestroy({ sandboxId, atMs: 4_500 });
  expect(ended).toMatchObject({ state: "expired", reason: "its time was up", costMicroUsd: 2_500 });
  const entries = await store.listLedger(orgId, sandboxId);
  expect(entries.map(({ kind, amountMicroUsd }) => [kind, amountMicroUsd])).toEqual([
    ["hold", 10_000],
    ["capture", 2_500],
    ["release", 7_500],
  ]);
  expect(await stillHeld(store, orgId, sandboxId)).toBe(0);
});

it("charges what failed nothing, and what was lost up to its expiry", async () => {
  const store = openStore();
  const [failed, lost] = [beginCreateOf({ orgId }), beginCreateOf({ orgId })];
  await store.beginCreate(failed);
  await store.beginCreate(lost);
  await store.failCreate({ sandboxId: failed.sandbox.id, atMs: 9_000, reason: "no room" });
  await store.settleCreate(settleOf(lost.sandbox.id));
  const gone = await store.markGone({ sandboxId: lost.sandbox.id, to: "lost", atMs: 99_000 });
  expect(await store.getSandboxById(failed.sandbox.id)).toMatchObject({ state: "failed", costMicroUsd: 0 });
  expect(gone).toMatchObject({ state: "lost", costMicroUsd: 10_000 });
  expect(await store.listUnfinished()).toEqual([]);
});

it("gives a name to one living sandbox of an org at a time", async () => {
  const store = openStore();
  const first = beginCreateOf({ orgId, name: "dev" });
  await store.beginCreate(first);
  const taken = await refusal(store.beginCreate(beginCreateOf({ orgId, name: "dev" })), "conflict");
  expect(taken.details).toMatchObject({ sandboxId: first.sandbox.id });
  await store.beginCreate(beginCreateOf({ orgId: "org_two", name: "dev" }));
  await store.failCreate({ sandboxId: first.sandbox.id, atMs: 2_000 });
  const next = beginCreateOf({ orgId, name: "dev" });
  await store.beginCreate(next);
  expect((await store.getSandbox(orgId, "dev"))?.id).toBe(next.sandbox.id);
  expect(await store.getSandbox(orgId, first.sandbox.id)).toMatchObject({ state: "failed" });
  expect(await store.getSandbox("org_two", next.sandbox.id)).toBeUndefined();
});

it("pages through an org's sandboxes, newest first", async () => {
  const store = openStore();
  const ids = Array.from({ length: 5 }, newSandboxId);
  for (const id of ids) await store.beginCreate(beginCreateOf({ orgId, id }));
  await store.beginCreate(beginCreateOf({ orgId: "org_two" }));
  await store.settleCreate(settleOf(ids[1]!));
  const list = async (query: object) =>
    (await store.listSandboxes({ orgId, limit: 10, ...query })).map(({ id }) => id);
  expect(await list({})).toEqual(ids.toReversed());
  expect(await list({ after: ids[3], limit: 2 })).toEqual([ids[2], ids[1]]);
  expect(await list({ states: ["running", "paused"] })).toEqual([ids[1]]);
  expect(await list({ states: [] })).toEqual([]);
  await refusal(list({ after: "nobody" }), "invalid_request");
});

it("finds a principal with every right from its root key down", async () => {
  const store = openStore();
  const key = (id: string, parentId?: string) => ({
    id,
    orgId,
    principal: { id: newRowId("prn"), kind: "agent" as const },
    ...(parentId && { parentId }),
    rights: { maximumTtlMs: 1_000 * id.length },
    hash: `hash of ${id}`,
    createdAtMs: 1,
  });
  await store.insertKey(key("root"));
  await store.insertKey(key("child", "root"));
  await store.insertKey(key("grandchild", "child"));
  const principal = (await store.findKey("hash of grandchild"))?.principal;
  expect(principal).toMatchObject({ orgId, keyId: "grandchild" });
  expect(principal?.chain.map(({ maximumTtlMs }) => maximumTtlMs)).toEqual([4_000, 5_000, 10_000]);
  expect(await store.findKey("hash of nobody")).toBeUndefined();
  const elsewhere = { ...key("stray", "root"), orgId: "org_two" };
  await expect(store.insertKey(elsewhere)).rejects.toThrow(/FOREIGN KEY/);
});

it("numbers an org's events without a gap and shows any tampering", async () => {
  const path = newPath();
  const store = openStore(path);
  const event = {
    type: "process.started",
    orgId,
    atMs: 1,
    data: { b: 1, a: { d: undefined, c: "ü" } },
  } as const;
  await store.appendEvents([event, event, { ...event, orgId: "org_two" }, event]);
  const written = await store.listEvents(orgId, 0, 10);
  expect(written.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  expect(firstBrokenSeq(written)).toBeUndefined();
  expect(firstBrokenSeq(await store.listEvents(orgId, 1, 10), written[0])).toBeUndefined();
  expect(firstBrokenSeq(written.toSpliced(1, 1))).toBe(3);

  const intruder = new DatabaseSync(path);
  expect(() => intruder.exec("UPDATE events SET data = '{}' WHERE seq = 2")).toThrow(/append-only/);
  expect(() => intruder.exec("DELETE FROM events WHERE seq = 3")).toThrow(/append-only/);
  intruder.exec("DROP TRIGGER events_stay; UPDATE events SET data = '{}' WHERE seq = 2");
  intruder.close();
  expect(firstBrokenSeq(await store.listEvents(orgId, 0, 10))).toBe(2);
});

it("stays whole when two processes race and are killed in the middle", async () => {
  const path = newPath();
  const store = openStore(path);
  const program = join(import.meta.dirname, "../../../test/write-forever.ts");
  const writers = [1, 2].map(() =>
    spawn(process.execPath, [program, path, orgId], { stdio: ["ignore", "pipe", 2] }),
  );
  await Promise.all(writers.map((writer) => once(writer.stdout!, "data")));
  await expect.poll(async () => (await store.listEvents(orgId, 0, 1_000)).length).toBeGreaterThan(40);
  for (const writer of writers) {
    writer.kill("SIGKILL");
    await once(writer, "exit");
  }
  const events = await store.listEvents(orgId, 0, 1_000_000);
  expect(events.length).toBeGreaterThan(8);
  expect(firstBrokenSeq(events)).toBeUndefined();
  const unfinished = new Set((await store.listUnfinished()).map(({ id }) => id));
  expect(unfinished.size).toBeLessThanOrEqual(2);
  for (const id of new Set(events.map(({ sandboxId }) => sandboxId!))) {
    expect(await stillHeld(store, orgId, id)).toBe(unfinished.has(id) ? 10_000 : 0);
  }
});
