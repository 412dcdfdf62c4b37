/** Who sees a profile, and how long the sandboxes of one took to start. */
export const PROFILE_SIGHT = `
  ALTER TABLE profiles ADD COLUMN visibility TEXT NOT NULL DEFAULT 'org'
    CHECK (visibility IN ('private', 'team', 'org'));
  ALTER TABLE profiles ADD COLUMN team TEXT;
  ALTER TABLE profiles ADD COLUMN lineage TEXT NOT NULL DEFAULT '/';
  DROP TRIGGER profiles_stay;
  CREATE TRIGGER profiles_stay BEFORE UPDATE OF org_id, name, version, digest, profile, resolved, published_at_ms,
    visibility, team, lineage ON profiles BEGIN SELECT RAISE(ABORT, 'a published profile never changes'); END;
  CREATE INDEX sandboxes_by_profile ON sandboxes (org_id, json_extract(profile, '$.digest'), seq)
    WHERE profile IS NOT NULL;
  DROP INDEX events_by_sandbox;
  CREATE INDEX events_by_sandbox ON events (sandbox_id, seq)
    WHERE type IN ('sandbox.requested', 'sandbox.created', 'sandbox.failed', 'sandbox.audited');
  ALTER TABLE sandboxes ADD COLUMN used_at_ms INTEGER;
`;
