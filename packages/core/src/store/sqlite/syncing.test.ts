import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished, vi } from "vitest";
import { openers } from "../../../test/gateway.ts";
import { beginCreateOf, settleOf } from "../../../test/rows.ts";
import { openConnection } from "./open.ts";

const { openStore, temporaryFolder } = openers(onTestFinished);

/** Syncs that were asked for, on a disk that takes one only when it is told to. */
const disk = vi.hoisted(() => ({ isSlow: false, asked: [] as (() => void)[] }));
vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  const fdatasync = (descriptor: number, done: (error: Error | null) => void): void => {
    if (disk.isSlow) disk.asked.push(() => fs.fdatasync(descriptor, done));
    else fs.fdatasync(descriptor, done);
  };
  return { ...fs, fdatasync };
});

function letGo(): void {
  disk.isSlow = false;
  for (const one of disk.asked.splice(0)) one();
}

const orgId = "org_one";
const newPath = () => `${temporaryFolder()}/store.db`;

it("RE-12 syncs within the commit what nothing syncs later, and only that", async () => {
  const connection = openConnection(newPath());
  onTestFinished(() => connection.close());
  const level = () => (connection.prepare("PRAGMA synchronous").get() as { synchronous: number }).synchronous;
  const [NORMAL, FULL] = [1, 2];
  expect(connection.write(level)).toBe(FULL);
  expect(connection.commitSoon(level)).toBe(NORMAL);
  expect(await connection.commit(level)).toBe(NORMAL);
  connection.append(() => expect(level()).toBe(NORMAL));
  const fail = () => {
    expect(level()).toBe(FULL);
    throw new Error("no");
  };
  expect(() => connection.write(fail)).toThrow("no");
  expect(connection.commitSoon(level)).toBe(NORMAL);
});

it("RE-12 tells at once only of what a power cut ends; its row outlives this process all the same", async () => {
  const path = newPath();
  const store = openStore(path);
  onTestFinished(letGo);
  const [passing, claimed, lasting] = [
    beginCreateOf({ orgId }),
    beginCreateOf({ orgId }),
    beginCreateOf({ orgId }),
  ];
  for (const one of [passing, claimed, lasting]) await store.beginCreate(one);
  disk.isSlow = true;
  const told: string[] = [];
  const tell = (name: string, work: Promise<unknown>) => work.then(() => void told.push(name));
  const of = ({ sandbox }: typeof passing) => settleOf(sandbox.id);

  await store.settleCreate({ ...of(passing), endsWithThisMachine: true });
  const other = new DatabaseSync(path, { readOnly: true });
  onTestFinished(() => other.close());
  const row = other.prepare("SELECT state FROM sandboxes WHERE id = ?").get(passing.sandbox.id);
  expect(row).toEqual({ state: "running" });

  const waiting = [
    tell("claimed", store.settleCreate({ ...of(claimed), claimed: true, endsWithThisMachine: true })),
    tell("lasting", store.settleCreate(of(lasting))),
    tell(
      "ended",
      store
        .beginDestroy({ sandboxId: passing.sandbox.id, ending: "destroyed", reason: "it", atMs: 3_000 })
        .then(() => store.finishDestroy({ sandboxId: passing.sandbox.id, atMs: 4_000 })),
    ),
  ];
  await vi.waitUntil(() => disk.asked.length > 0);
  for (let turns = 0; turns < 10; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual([]);
  letGo();
  await Promise.all(waiting);
});

it("RE-12 tells at once of the end of what a power cut ends, where it cost nothing", async () => {
  const path = newPath();
  const store = openStore(path);
  onTestFinished(letGo);
  const begin = async (microUsdPerHour: number) => {
    const begun = beginCreateOf({ orgId });
    const { id: sandboxId } = begun.sandbox;
    await store.beginCreate(begun);
    await store.settleCreate({ ...settleOf(sandboxId), microUsdPerHour });
    await store.beginDestroy({ sandboxId, ending: "destroyed", reason: "it", atMs: 3_000 });
    return sandboxId;
  };
  const [free, priced, lasting] = [await begin(0), await begin(3_600_000), await begin(0)];
  disk.isSlow = true;
  const told: string[] = [];
  const finish = async (sandboxId: string, endsWithThisMachine: boolean) => {
    await store.finishDestroy({ sandboxId, atMs: 4_000, endsWithThisMachine });
    told.push(sandboxId);
  };

  await finish(free, true);
  const other = new DatabaseSync(path, { readOnly: true });
  onTestFinished(() => other.close());
  const row = other.prepare("SELECT state FROM sandboxes WHERE id = ?").get(free);
  expect(row).toEqual({ state: "destroyed" });

  const waiting = [finish(priced, true), finish(lasting, false)];
  await vi.waitUntil(() => disk.asked.length > 0);
  for (let turns = 0; turns < 10; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual([free]);
  letGo();
  await Promise.all(waiting);
});

it("RE-12 brings to the disk soon what was told before it was there", async () => {
  const store = openStore(newPath());
  onTestFinished(letGo);
  const begun = beginCreateOf({ orgId });
  await store.beginCreate(begun);
  disk.isSlow = true;
  await store.settleCreate({ ...settleOf(begun.sandbox.id), endsWithThisMachine: true });
  await vi.waitUntil(() => disk.asked.length > 0);
});
