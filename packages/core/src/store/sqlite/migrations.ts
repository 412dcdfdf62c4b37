import type { DatabaseSync } from "node:sqlite";
import { SandboxerError } from "@sandboxer/contract";
import { KEYS } from "./migrations/2-keys.ts";
import { IDEMPOTENCY } from "./migrations/3-idempotency.ts";
import { BUDGETS } from "./migrations/4-budgets.ts";
import { PROFILES } from "./migrations/5-profiles.ts";
import { SANDBOX_EVENTS } from "./migrations/6-events.ts";
import { WEBHOOKS } from "./migrations/7-webhooks.ts";
import { CREATORS } from "./migrations/8-creators.ts";
import { REUSE } from "./migrations/9-reuse.ts";
import { ATTACHMENTS } from "./migrations/10-attachments.ts";
import { PAUSED_RATES } from "./migrations/11-paused-rates.ts";
import { WEBHOOK_NAMES } from "./migrations/12-webhook-names.ts";
import { PROFILE_SIGHT } from "./migrations/13-profile-sight.ts";
import { FORSAKEN } from "./migrations/14-forsaken.ts";
import { ORGS } from "./migrations/15-orgs.ts";
import { SECRETS } from "./migrations/16-secrets.ts";
import { APPROVALS } from "./migrations/17-approvals.ts";
import { PLANS } from "./migrations/18-plans.ts";
import { VOLUMES } from "./migrations/19-volumes.ts";
import { SECRET_OWNERS } from "./migrations/20-secret-owners.ts";
import { IDENTITIES } from "./migrations/21-identities.ts";
import { REACHED } from "./migrations/22-reached.ts";

/** Applied in order, once each; `user_version` counts how many. A published one never changes. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

  CREATE TABLE keys (
    id            TEXT PRIMARY KEY,
    org_id        TEXT NOT NULL,
    principal_id  TEXT NOT NULL,
    parent_id     TEXT,
    rights        TEXT NOT NULL,
    hash          TEXT NOT NULL UNIQUE,
    created_at_ms INTEGER NOT NULL,
    UNIQUE (org_id, id),
    FOREIGN KEY (org_id, parent_id) REFERENCES keys (org_id, id)
  ) STRICT;

  CREATE TABLE sandboxes (
    seq                 INTEGER PRIMARY KEY AUTOINCREMENT,
    id                  TEXT NOT NULL UNIQUE,
    org_id              TEXT NOT NULL,
    principal_id        TEXT NOT NULL,
    name                TEXT,
    consumer            TEXT NOT NULL,
    state               TEXT NOT NULL,
    spec                TEXT NOT NULL,
    extension_id        TEXT,
    host_id             TEXT,
    ref                 TEXT,
    pause_depth         TEXT,
    best_effort         TEXT NOT NULL,
    created_at_ms       INTEGER NOT NULL,
    started_at_ms       INTEGER,
    expires_at_ms       INTEGER,
    ended_at_ms         INTEGER,
    ending              TEXT,
    reason              TEXT,
    micro_usd_per_hour  INTEGER NOT NULL DEFAULT 0,
    cost_micro_usd      INTEGER NOT NULL DEFAULT 0 CHECK (cost_micro_usd >= 0)
  ) STRICT;
  CREATE INDEX sandboxes_by_org ON sandboxes (org_id, seq);
  CREATE INDEX sandboxes_by_state ON sandboxes (org_id, state, seq);
  CREATE INDEX sandboxes_unfinished ON sandboxes (seq) WHERE ended_at_ms IS NULL;
  CREATE UNIQUE INDEX sandboxes_living_name ON sandboxes (org_id, name)
    WHERE name IS NOT NULL AND ended_at_ms IS NULL;

  CREATE TABLE attachments (
    id            TEXT PRIMARY KEY,
    org_id        TEXT NOT NULL,
    sandbox_id    TEXT NOT NULL REFERENCES sandboxes (id),
    principal_id  TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    UNIQUE (sandbox_id, principal_id)
  ) STRICT;

  CREATE TABLE events (
    org_id       TEXT NOT NULL,
    seq          INTEGER NOT NULL,
    id           TEXT NOT NULL,
    at_ms        INTEGER NOT NULL,
    type         TEXT NOT NULL,
    sandbox_id   TEXT,
    principal_id TEXT,
    data         TEXT NOT NULL,
    hash         TEXT NOT NULL,
    PRIMARY KEY (org_id, seq)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE ledger (
    seq              INTEGER PRIMARY KEY AUTOINCREMENT,
    id               TEXT NOT NULL UNIQUE,
    org_id           TEXT NOT NULL,
    sandbox_id       TEXT NOT NULL REFERENCES sandboxes (id),
    kind             TEXT NOT NULL CHECK (kind IN ('hold', 'capture', 'release')),
    debit            TEXT NOT NULL,
    credit           TEXT NOT NULL,
    amount_micro_usd INTEGER NOT NULL CHECK (amount_micro_usd >= 0),
    at_ms            INTEGER NOT NULL,
    UNIQUE (sandbox_id, kind)
  ) STRICT;

  CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
  CREATE TRIGGER events_keep BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
  CREATE TRIGGER ledger_stays BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
  CREATE TRIGGER ledger_keeps BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
  `,
  KEYS,
  IDEMPOTENCY,
  BUDGETS,
  PROFILES,
  SANDBOX_EVENTS,
  WEBHOOKS,
  CREATORS,
  REUSE,
  ATTACHMENTS,
  PAUSED_RATES,
  WEBHOOK_NAMES,
  PROFILE_SIGHT,
  FORSAKEN,
  ORGS,
  SECRETS,
  APPROVALS,
  PLANS,
  VOLUMES,
  SECRET_OWNERS,
  IDENTITIES,
  REACHED,
];

/** Inside a write: of two gateways that open a new file at once, the second finds it done. */
export function migrate(db: DatabaseSync): void {
  const { user_version: version } = db.prepare("PRAGMA user_version").get() as { user_version: number };
  if (version > MIGRATIONS.length) {
    throw new SandboxerError("internal", `the database is of a newer sand-boxer (schema ${version})`, {
      hint: "Run the newer version, or another data folder.",
    });
  }
  // Writing even the same number would cost every start a sync.
  if (version === MIGRATIONS.length) return;
  for (const sql of MIGRATIONS.slice(version)) db.exec(sql);
  db.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
}
