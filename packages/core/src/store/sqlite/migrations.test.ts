import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { auditBooks } from "../../../test/books.ts";
import { openers } from "../../../test/gateway.ts";
import { beginCreateOf } from "../../../test/rows.ts";
import { MIGRATIONS } from "./migrations.ts";

const { openStore, temporaryFolder } = openers(onTestFinished);

/** A home of the first release: a root key, one sandbox that runs and one that is over. */
function writeFirstSchema(path: string): void {
  const db = new DatabaseSync(path);
  db.exec(`${MIGRATIONS[0]}; PRAGMA user_version = 1`);
  const { spec } = beginCreateOf({ orgId: "org_one" }).sandbox;
  db.exec(`
    INSERT INTO keys VALUES ('key_one', 'org_one', 'prn_one', NULL, '{}', 'hash', 1);
    INSERT INTO sandboxes (id, org_id, principal_id, name, consumer, state, spec, extension_id, host_id, ref,
      best_effort, created_at_ms, started_at_ms, expires_at_ms, ended_at_ms, micro_usd_per_hour, cost_micro_usd)
    VALUES
      ('runs', 'org_one', 'prn_one', 'dev', '{"kind":"person"}', 'running', '${JSON.stringify(spec)}', 'plain',
       'here', 'box-runs', '[]', 1000, 2000, 12000, NULL, 3600000, 0),
      ('over', 'org_one', 'prn_one', 'dev', '{"kind":"person"}', 'destroyed', '${JSON.stringify(spec)}', 'plain',
       'here', 'box-over', '[]', 1000, 2000, 12000, 4000, 3600000, 2000);
    INSERT INTO ledger (id, org_id, sandbox_id, kind, debit, credit, amount_micro_usd, at_ms) VALUES
      ('1', 'org_one', 'runs', 'hold', 'held', 'available', 10000, 1000),
      ('2', 'org_one', 'over', 'hold', 'held', 'available', 10000, 1000),
      ('3', 'org_one', 'over', 'capture', 'revenue', 'held', 2000, 4000),
      ('4', 'org_one', 'over', 'release', 'available', 'held', 8000, 4000);
  `);
  db.close();
}

it("brings a home of the first schema along: keys, sandboxes and every unit of money", async () => {
  const path = join(temporaryFolder(), "store.db");
  writeFirstSchema(path);
  const store = openStore(path);
  auditBooks(path);
  expect((await store.findKey("hash"))?.principal).toMatchObject({ id: "prn_one", lineage: ["prn_one"] });
  const running = await store.getSandbox("org_one", "dev", { principalId: "prn_another" });
  expect(running, "as visible as it was").toMatchObject({ id: "runs", visibility: "org", state: "running" });
  expect(await store.getBudget("org_one", "key_one")).toEqual({
    accountId: "org_one",
    heldMicroUsd: 10_000,
    spentMicroUsd: 2_000,
  });
  const gone = await store.markGone({ sandboxId: "runs", to: "lost", atMs: 5_000 });
  expect(gone?.costMicroUsd).toBe(3_000);
  auditBooks(path);
  const limit = { orgId: "org_one", limitMicroUsd: 5_000, atMs: 6_000, principalId: "prn_one" };
  expect(await store.setOrgBudget(limit)).toMatchObject({ availableMicroUsd: 0 });
  auditBooks(path);
});

it("opens what it has opened before, without doing anything twice", () => {
  const path = join(temporaryFolder(), "store.db");
  writeFirstSchema(path);
  openStore(path);
  openStore(path);
  auditBooks(path);
});

it("keeps secrets and who was granted them when names come to belong to owners", async () => {
  const path = join(temporaryFolder(), "store.db");
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: true });
  const before = MIGRATIONS.findIndex((sql) => sql.includes("owned_secrets"));
  for (const sql of MIGRATIONS.slice(0, before)) db.exec(sql);
  const source = JSON.stringify({ kind: "env", variable: "A" });
  db.exec(`PRAGMA user_version = ${before};
    INSERT INTO secrets VALUES ('sec_one', 'org_one', 'TOKEN', 'prn_one', '["prn_one"]', '${source}', '{}', '[]',
      'TOKEN', 3, 1, 2);
    INSERT INTO secret_grants VALUES ('sec_one', 'prn_two', 'key_two', '["prn_two"]', 'prn_one', 5)`);
  db.close();
  const store = openStore(path);
  expect(await store.getSecret("org_one", "TOKEN", "prn_two")).toMatchObject({
    id: "sec_one",
    version: 3,
    grants: [{ keyId: "key_two", principalId: "prn_two" }],
  });
  await store.deleteSecret({
    id: "sec_one",
    orgId: "org_one",
    name: "TOKEN",
    principalId: "prn_one",
    atMs: 6,
  });
  const left = new DatabaseSync(path).prepare("SELECT count(*) AS left FROM secret_grants").get();
  expect(left, "grants still go with their secret").toEqual({ left: 0 });
});
