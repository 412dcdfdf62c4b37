/** Secrets, owned by principals and granted to others. What a vault holds is sealed elsewhere. */
export const SECRETS = `
  CREATE TABLE secrets (
    id            TEXT PRIMARY KEY,
    org_id        TEXT NOT NULL,
    name          TEXT NOT NULL,
    principal_id  TEXT NOT NULL,
    lineage       TEXT NOT NULL,
    source        TEXT NOT NULL,
    shape         TEXT NOT NULL,
    bindings      TEXT NOT NULL,
    variable      TEXT NOT NULL,
    version       INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    rotated_at_ms INTEGER NOT NULL,
    UNIQUE (org_id, name)
  ) STRICT;
  CREATE TABLE secret_grants (
    secret_id       TEXT NOT NULL REFERENCES secrets (id) ON DELETE CASCADE,
    principal_id    TEXT NOT NULL,
    key_id          TEXT NOT NULL,
    lineage         TEXT NOT NULL,
    by_principal_id TEXT NOT NULL,
    at_ms           INTEGER NOT NULL,
    PRIMARY KEY (secret_id, principal_id)
  ) STRICT;
`;
