/** Who the holder of a key is, and until when that is proven. */
export const IDENTITIES = `
  ALTER TABLE keys ADD COLUMN identity TEXT;
  ALTER TABLE keys ADD COLUMN proven_until_ms INTEGER;
`;
