/**
 * An attachment says whose use it is and what it may do. One that a first use made is the only one
 * of its kind; those that were asked for are as many as conversations.
 */
export const ATTACHMENTS = `
  ALTER TABLE attachments RENAME TO attachments_1;
  CREATE TABLE attachments (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    id              TEXT NOT NULL UNIQUE,
    org_id          TEXT NOT NULL,
    sandbox_id      TEXT NOT NULL REFERENCES sandboxes (id),
    principal_id    TEXT NOT NULL,
    by_principal_id TEXT NOT NULL,
    implicit        INTEGER NOT NULL CHECK (implicit IN (0, 1)),
    name            TEXT,
    conversation    TEXT,
    access          TEXT NOT NULL CHECK (access IN ('read-only', 'read-write')),
    rules           TEXT,
    secrets         TEXT,
    uid             INTEGER,
    created_at_ms   INTEGER NOT NULL,
    detached_at_ms  INTEGER
  ) STRICT;
  INSERT INTO attachments (id, org_id, sandbox_id, principal_id, by_principal_id, implicit, access, created_at_ms)
    SELECT id, org_id, sandbox_id, principal_id, principal_id, 1, 'read-write', created_at_ms FROM attachments_1;
  DROP TABLE attachments_1;
  CREATE UNIQUE INDEX attachments_implicit ON attachments (sandbox_id, principal_id) WHERE implicit = 1;
  CREATE INDEX attachments_by_principal ON attachments (principal_id, sandbox_id);
  CREATE INDEX attachments_by_sandbox ON attachments (sandbox_id, seq);
  CREATE UNIQUE INDEX attachments_living_name ON attachments (org_id, principal_id, name)
    WHERE name IS NOT NULL AND detached_at_ms IS NULL;

  -- What follows when the last attachment leaves: sleep, and an end this long after.
  ALTER TABLE sandboxes ADD COLUMN hibernates INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE sandboxes ADD COLUMN retention_ms INTEGER;
  -- The end it had before that, for when somebody comes back.
  ALTER TABLE sandboxes ADD COLUMN full_expires_at_ms INTEGER;
  CREATE INDEX sandboxes_hibernating ON sandboxes (id) WHERE hibernates = 1 AND ended_at_ms IS NULL;
`;
