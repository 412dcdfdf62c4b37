import { readdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { auditBooks } from "../../../test/books.ts";
import { openers } from "../../../test/gateway.ts";
import { refusal } from "../../../test/outcomes.ts";
import { beginCreateOf, settleOf } from "../../../test/rows.ts";
import { firstBrokenSeq } from "../../events/chain.ts";
import { backupSqliteStore, restoreSqliteStore } from "./backup.ts";

const { openStore, temporaryFolder } = openers(onTestFinished);
const orgId = "org_one";

it("copies one moment while others write, and brings it back", async () => {
  const path = join(temporaryFolder(), "store.db");
  const copy = join(temporaryFolder(), "copy.db");
  const store = openStore(path);
  const kept = beginCreateOf({ orgId, name: "kept" });
  await store.beginCreate(kept);
  await store.settleCreate(settleOf(kept.sandbox.id));
  const copying = backupSqliteStore(path, copy);
  for (let count = 0; count < 20; count++) await store.beginCreate(beginCreateOf({ orgId }));
  await copying;
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  auditBooks(copy);
  await refusal(backupSqliteStore(path, copy), "path_exists");

  const elsewhere = join(temporaryFolder(), "store.db");
  writeFileSync(elsewhere, "what was there");
  restoreSqliteStore(copy, elsewhere, 7);
  const restored = openStore(elsewhere);
  expect(await restored.getSandbox(orgId, "kept")).toEqual(await store.getSandbox(orgId, "kept"));
  expect(firstBrokenSeq(await restored.listEvents(orgId, 0, 1_000))).toBeUndefined();
  expect(readdirSync(dirname(elsewhere))).toContain("store.db.before-7");
  auditBooks(elsewhere);
});

it("brings back nothing that is torn, foreign or missing, and leaves what is there", async () => {
  const path = join(temporaryFolder(), "store.db");
  const copy = join(temporaryFolder(), "copy.db");
  const store = openStore(path);
  for (let count = 0; count < 50; count++) await store.beginCreate(beginCreateOf({ orgId }));
  await backupSqliteStore(path, copy);
  truncateSync(copy, Math.floor(statSync(copy).size / 2));
  const note = join(temporaryFolder(), "note");
  writeFileSync(note, "no store at all, but long enough to look like a file");
  for (const bad of [copy, note, join(temporaryFolder(), "missing")]) {
    expect(() => restoreSqliteStore(bad, path, 1)).toThrow(
      expect.objectContaining({ code: "invalid_request" }),
    );
  }
  expect(await store.listUnfinished()).toHaveLength(50);
});
