import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { SandboxerError } from "@sandboxer/contract";
import { createCore, createRootKey, openSqliteStore } from "@sandboxer/core";
import { expect, it, onTestFinished, vi } from "vitest";
import { createPlainExtension } from "../../packages/core/test/plain-extension.ts";
import { rowsOf, troubleInTheBooks } from "./books.ts";
import { snapshotBeforeEveryStatement } from "./snapshots.ts";

vi.setConfig({ testTimeout: 120_000 });

const PRICE = { price: { basis: "provisioned", microUsdPerHour: 3_600_000_000 } } as const;

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sandboxer-store-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function open(home: string) {
  const store = openSqliteStore(join(home, "state.db"));
  const core = await createCore({ store, extensions: [createPlainExtension(join(home, "plain"), PRICE)] });
  const close = async () => {
    await core.close();
    await store.close();
  };
  return { store, core, close };
}

it("RE-12 RE-15 at every statement of two lives, what is on the disk can be put right and is paid once", async () => {
  const [home, copies] = [temporaryFolder(), temporaryFolder()];
  const { store, core, close } = await open(home);
  const { principal } = await createRootKey(store);
  await core.start();
  const acknowledged: { id: string; at: number }[] = [];
  const snapshots = snapshotBeforeEveryStatement(home, copies);
  for (const end of ["destroyed", "lost"]) {
    const { id } = await core.create(principal, { ttlMs: 60_000 });
    acknowledged.push({ id, at: snapshots.count() });
    await core.exec(principal, id, { argv: ["true"] });
    if (end === "destroyed") await core.destroy(principal, id);
    else {
      rmSync(join(home, "plain", `box-${id}`), { recursive: true });
      await core.start();
    }
  }
  const taken = snapshots.stop();
  await close();
  expect(taken.length, "the whole of both lives").toBeGreaterThan(40);
  const whole = rowsOf(home).map(({ id, state }) => [id, state]);
  expect(whole.map(([, state]) => state)).toEqual(["destroyed", "lost"]);

  const statesSeen = new Set<string>();
  for (const [index, place] of taken.entries()) {
    const found = rowsOf(place);
    for (const { state } of found) statesSeen.add(state);
    const owed = acknowledged.filter(({ at }) => at <= index).map(({ id }) => id);
    expect(found.map(({ id }) => id)).toEqual(expect.arrayContaining(owed));
    const after = await open(place);
    // Another process began them, and it is gone: nobody will finish what is unborn.
    const db = new DatabaseSync(join(place, "state.db"));
    db.exec("UPDATE sandboxes SET creator = '0:0:1:1' WHERE ended_at_ms IS NULL");
    db.close();
    await after.core.start();
    const { sandboxes } = await after.core.list(principal, { states: ["running"] });
    for (const { id } of sandboxes) await after.core.destroy(principal, id);
    await after.close();
    expect(rowsOf(place).filter(({ ended }) => ended === null)).toEqual([]);
    expect(troubleInTheBooks(place), place).toEqual({ money: [], events: [] });
  }
  expect([...statesSeen].sort()).toEqual(["destroyed", "destroying", "lost", "provisioning", "running"]);
});

/** A store with three sandboxes whose log has not been folded into the database yet. */
async function withLog(): Promise<{ home: string; ids: string[] }> {
  const live = temporaryFolder();
  const { store, core, close } = await open(live);
  const { principal } = await createRootKey(store);
  const ids: string[] = [];
  for (let made = 0; made < 3; made++) ids.push((await core.create(principal, { ttlMs: 60_000 })).id);
  const home = temporaryFolder();
  for (const name of ["state.db", "state.db-wal"]) cpSync(join(live, name), join(home, name));
  await close();
  return { home, ids };
}

it("RE-12 keeps every acknowledged create when the end of the log is torn or is noise", async () => {
  const { home, ids } = await withLog();
  const log = join(home, "state.db-wal");
  const whole = readFileSync(log);
  const damage: [string, () => void][] = [
    ["nothing", () => {}],
    ["noise behind it", () => appendFileSync(log, Buffer.alloc(5_000, 0x5a))],
    ["half a page behind it", () => appendFileSync(log, whole.subarray(whole.length - 2_000))],
  ];
  for (const [what, inflict] of damage) {
    const folder = temporaryFolder();
    cpSync(home, folder, { recursive: true });
    writeFileSync(log, whole);
    inflict();
    cpSync(log, join(folder, "state.db-wal"));
    expect(
      rowsOf(folder).map(({ id }) => id),
      what,
    ).toEqual(ids);
    expect(troubleInTheBooks(folder).events, what).toEqual([]);
  }
  // A commit that was torn was never acknowledged; what came before it stands.
  writeFileSync(log, whole);
  for (const lost of [100, 5_000, 20_000]) {
    truncateSync(log, statSync(log).size - lost);
    expect(ids.join()).toContain(
      rowsOf(home)
        .map(({ id }) => id)
        .join(),
    );
    expect(troubleInTheBooks(home).events).toEqual([]);
    writeFileSync(log, whole);
  }
});

it("RE-12 refuses a damaged database with a way out, at the start or at the first touch", async () => {
  const { home } = await withLog();
  await openSqliteStore(join(home, "state.db")).close();
  const path = join(home, "state.db");
  const whole = readFileSync(path);
  const damage: [string, (bytes: Buffer) => void][] = [
    ["its header", (bytes) => bytes.fill(0x5a, 0, 100)],
    ["its tables", (bytes) => bytes.fill(0x5a, 4_096)],
  ];
  for (const [what, inflict] of damage) {
    const bytes = Buffer.from(whole);
    inflict(bytes);
    writeFileSync(path, bytes);
    const error = await open(home)
      .then(({ core, close }) => core.start().finally(close))
      .then(
        () => undefined,
        (thrown: SandboxerError) => thrown,
      );
    expect(error?.message, what).toMatch(/damaged/);
    expect(error?.hint, what).toContain("backup");
  }
});
