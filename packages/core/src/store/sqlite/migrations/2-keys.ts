/** Who holds a key, when it ends, and who sees a sandbox. */
export const KEYS = `
  CREATE TABLE principals (
    id            TEXT PRIMARY KEY,
    org_id        TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('user', 'service', 'agent')),
    team          TEXT,
    created_at_ms INTEGER NOT NULL
  ) STRICT;
  INSERT INTO principals (id, org_id, kind, created_at_ms)
    SELECT principal_id, org_id, 'user', min(created_at_ms) FROM keys GROUP BY principal_id;

  ALTER TABLE keys ADD COLUMN name TEXT;
  ALTER TABLE keys ADD COLUMN role TEXT;
  ALTER TABLE keys ADD COLUMN expires_at_ms INTEGER;
  ALTER TABLE keys ADD COLUMN revoked_at_ms INTEGER;
  CREATE INDEX keys_by_parent ON keys (parent_id);

  -- Until now everybody of an org saw all of it.
  ALTER TABLE sandboxes ADD COLUMN visibility TEXT NOT NULL DEFAULT 'org'
    CHECK (visibility IN ('private', 'team', 'org'));
  ALTER TABLE sandboxes ADD COLUMN team TEXT;
  -- The principals who see it whatever its visibility, each between slashes.
  ALTER TABLE sandboxes ADD COLUMN lineage TEXT NOT NULL DEFAULT '/';
  ALTER TABLE sandboxes ADD COLUMN key_id TEXT;
  -- A name is its principal's own: what others keep private must not stand in the way.
  DROP INDEX sandboxes_living_name;
  CREATE UNIQUE INDEX sandboxes_living_name ON sandboxes (org_id, name, principal_id)
    WHERE name IS NOT NULL AND ended_at_ms IS NULL;
`;
