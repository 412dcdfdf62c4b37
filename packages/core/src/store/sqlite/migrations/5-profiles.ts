/** Published versions never change but for being deprecated. */
export const PROFILES = `
  CREATE TABLE profiles (
    org_id           TEXT NOT NULL,
    name             TEXT NOT NULL,
    version          INTEGER NOT NULL,
    digest           TEXT NOT NULL,
    profile          TEXT NOT NULL,
    resolved         TEXT NOT NULL,
    published_at_ms  INTEGER NOT NULL,
    deprecated_at_ms INTEGER,
    PRIMARY KEY (org_id, name, version)
  ) STRICT;
  CREATE TRIGGER profiles_stay BEFORE UPDATE OF org_id, name, version, digest, profile, resolved, published_at_ms
    ON profiles BEGIN SELECT RAISE(ABORT, 'a published profile never changes'); END;
  CREATE TRIGGER profiles_keep BEFORE DELETE ON profiles
    BEGIN SELECT RAISE(ABORT, 'a published profile never changes'); END;

  ALTER TABLE sandboxes ADD COLUMN profile TEXT;
`;
