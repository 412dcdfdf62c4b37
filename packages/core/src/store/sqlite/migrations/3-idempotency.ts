/** What was answered under an idempotency key; the key itself is never kept. */
export const IDEMPOTENCY = `
  CREATE TABLE idempotency (
    scope         TEXT PRIMARY KEY,
    body_hash     TEXT NOT NULL,
    sandbox_id    TEXT REFERENCES sandboxes (id),
    answer        TEXT,
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_by_age ON idempotency (created_at_ms);
  CREATE INDEX idempotency_by_sandbox ON idempotency (sandbox_id) WHERE sandbox_id IS NOT NULL;
`;
