/** Orgs that were made by name; an installation's first has none. */
export const ORGS = `
  CREATE TABLE orgs (
    id            TEXT PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    created_at_ms INTEGER NOT NULL
  ) STRICT;
`;
