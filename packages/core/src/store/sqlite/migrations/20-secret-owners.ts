/** Names of secrets belong to their owners: two principals may each have one of the same. */
export const SECRET_OWNERS = `
  CREATE TABLE owned_secrets (
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
    UNIQUE (org_id, name, principal_id)
  ) STRICT;
  INSERT INTO owned_secrets SELECT id, org_id, name, principal_id, lineage, source, shape, bindings, variable,
    version, created_at_ms, rotated_at_ms FROM secrets;
  CREATE TABLE owned_grants (
    secret_id       TEXT NOT NULL REFERENCES owned_secrets (id) ON DELETE CASCADE,
    principal_id    TEXT NOT NULL,
    key_id          TEXT NOT NULL,
    lineage         TEXT NOT NULL,
    by_principal_id TEXT NOT NULL,
    at_ms           INTEGER NOT NULL,
    PRIMARY KEY (secret_id, principal_id)
  ) STRICT;
  INSERT INTO owned_grants SELECT secret_id, principal_id, key_id, lineage, by_principal_id, at_ms FROM secret_grants;
  DROP TABLE secret_grants;
  DROP TABLE secrets;
  ALTER TABLE owned_secrets RENAME TO secrets;
  ALTER TABLE owned_grants RENAME TO secret_grants;
`;
