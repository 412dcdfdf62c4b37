/** Files that outlive sandboxes: what they are called and whose they are. */
export const VOLUMES = `
  CREATE TABLE volumes (
    id             TEXT PRIMARY KEY,
    org_id         TEXT NOT NULL,
    principal_id   TEXT NOT NULL,
    lineage        TEXT NOT NULL,
    name           TEXT NOT NULL,
    created_at_ms  INTEGER NOT NULL,
    forsaken_at_ms INTEGER
  ) STRICT;
  CREATE UNIQUE INDEX volumes_by_name ON volumes (org_id, principal_id, name) WHERE forsaken_at_ms IS NULL;
  CREATE INDEX volumes_forsaken ON volumes (id) WHERE forsaken_at_ms IS NOT NULL;
`;
