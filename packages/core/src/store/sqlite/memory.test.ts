import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newRowId } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { createRootKey, hashKey } from "../../keys.ts";
import { openConnection } from "./open.ts";
import { openSqliteStore } from "./store.ts";

function twoOfOneFile<T extends { close(): Promise<void> }>(open: (path: string) => T): [T, T] {
  const dir = mkdtempSync(join(tmpdir(), "sandboxer-memory-"));
  const path = join(dir, "state.db");
  const [one, other] = [open(path), open(path)];
  onTestFinished(async () => {
    await Promise.all([one.close(), other.close()]);
    rmSync(dir, { recursive: true });
  });
  return [one, other];
}

it("AZ-3 knows at once that a key was revoked, here and through another connection", async () => {
  const [here, elsewhere] = twoOfOneFile(openSqliteStore);
  const { principal } = await createRootKey(here);
  const { orgId, keyId: parentId } = principal;
  for (const revoking of [here, elsewhere]) {
    const key = { id: newRowId("key"), orgId, parentId, hash: hashKey(`word ${Math.random()}`) };
    const holder = { id: newRowId("prn"), kind: "agent" as const };
    await here.insertKey({ ...key, principal: holder, rights: {}, createdAtMs: 1 });
    for (const looking of [here, elsewhere]) {
      expect(await looking.findKey(key.hash)).toMatchObject({ revoked: false });
    }
    await revoking.revokeKey({ orgId, keyId: key.id, atMs: 2 });
    for (const looking of [here, elsewhere]) {
      expect(await looking.findKey(key.hash)).toMatchObject({ revoked: true });
    }
  }
});

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

it("reads again only after a write, and not for events", async () => {
  const [here, elsewhere] = twoOfOneFile(openConnection);
  let reads = 0;
  const look = () => here.remember("sandboxes", "it", () => ++reads);
  look();
  here.append(() => {});
  expect(look()).toBe(1);
  here.write(() => {});
  expect(look()).toBe(2);
  here.commitSoon(() => {});
  expect(look()).toBe(3);
  elsewhere.write(() => elsewhere.prepare("INSERT INTO meta (key, value) VALUES ('a', 'b')").run());
  await nextTurn();
  expect(look()).toBe(4);
  expect(look()).toBe(4);
});

it("AZ-3 looks for others' writes once a turn, and again with every key", async () => {
  const [here, elsewhere] = twoOfOneFile(openConnection);
  const writeElsewhere = () => elsewhere.write(() => elsewhere.prepare("DELETE FROM meta").run());
  elsewhere.write(() => elsewhere.prepare("INSERT INTO meta (key, value) VALUES ('a', 'b')").run());
  let reads = 0;
  const look = (topic: "keys" | "sandboxes") => here.remember(topic, "it", () => ++reads);
  look("sandboxes");
  writeElsewhere();
  expect(look("sandboxes"), "of the same moment").toBe(1);
  expect(look("keys"), "a key is always looked for").toBe(2);
  expect(look("sandboxes"), "and what was remembered before it is gone").toBe(3);
  elsewhere.write(() => elsewhere.prepare("INSERT INTO meta (key, value) VALUES ('c', 'd')").run());
  await nextTurn();
  expect(look("sandboxes")).toBe(4);
});

it("keeps who holds a key while sandboxes come and go, and forgets it with any change of a key", async () => {
  const [here, elsewhere] = twoOfOneFile(openConnection);
  let reads = 0;
  const look = () => here.remember("keys", "it", () => ++reads);
  expect(look()).toBe(1);
  here.commitSoon(() => here.prepare("INSERT INTO meta (key, value) VALUES ('a', 'b')").run());
  expect(look()).toBe(1);
  const key =
    "INSERT INTO keys (id, org_id, principal_id, rights, hash, created_at_ms) VALUES ('k', 'o', 'p', '{}', 'h', 1)";
  const changes = [key, "UPDATE keys SET rights = '{}' WHERE id = 'k'", "DELETE FROM keys WHERE id = 'k'"];
  for (const [at, sql] of changes.entries()) {
    here.commitSoon(() => here.prepare(sql).run());
    expect(look(), sql).toBe(at + 2);
  }
  elsewhere.write(() => elsewhere.prepare("INSERT INTO meta (key, value) VALUES ('c', 'd')").run());
  expect(look()).toBe(5);
});
