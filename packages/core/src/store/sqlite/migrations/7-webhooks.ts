export const WEBHOOKS = `
  CREATE TABLE webhooks (
    id                 TEXT PRIMARY KEY,
    org_id             TEXT NOT NULL,
    url                TEXT NOT NULL,
    types              TEXT,
    secret             TEXT NOT NULL,
    cursor_seq         INTEGER NOT NULL,
    attempts           INTEGER NOT NULL DEFAULT 0,
    next_attempt_at_ms INTEGER NOT NULL DEFAULT 0,
    last_error         TEXT,
    created_at_ms      INTEGER NOT NULL,
    disabled_at_ms     INTEGER
  ) STRICT;
`;
