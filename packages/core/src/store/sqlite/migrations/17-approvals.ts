/** What waits for somebody's word, and the ways out that were opened for a while. */
export const APPROVALS = `
  CREATE TABLE approvals (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    id              TEXT NOT NULL UNIQUE,
    org_id          TEXT NOT NULL,
    sandbox_id      TEXT,
    requesters      TEXT NOT NULL,
    lineage         TEXT NOT NULL,
    action          TEXT NOT NULL,
    digest          TEXT NOT NULL,
    state           TEXT NOT NULL
      CHECK (state IN ('pending', 'approved', 'used', 'denied', 'expired', 'withdrawn')),
    scope           TEXT,
    created_at_ms   INTEGER NOT NULL,
    expires_at_ms   INTEGER NOT NULL,
    decided_at_ms   INTEGER,
    decided_by      TEXT
  ) STRICT;
  CREATE INDEX approvals_by_org ON approvals (org_id, seq);
  CREATE INDEX approvals_open ON approvals (expires_at_ms) WHERE state IN ('pending', 'approved');
  CREATE INDEX approvals_by_digest ON approvals (digest) WHERE state IN ('pending', 'approved');
  CREATE TABLE elevations (
    approval_id TEXT PRIMARY KEY,
    org_id      TEXT NOT NULL,
    sandbox_id  TEXT NOT NULL REFERENCES sandboxes (id),
    rules       TEXT NOT NULL,
    until_ms    INTEGER NOT NULL,
    ended_at_ms INTEGER
  ) STRICT;
  CREATE INDEX elevations_living ON elevations (sandbox_id) WHERE ended_at_ms IS NULL;
`;
