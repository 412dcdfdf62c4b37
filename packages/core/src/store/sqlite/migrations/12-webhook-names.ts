/** From here on secrets are sealed; those before are when the gateway next starts. */
export const WEBHOOK_NAMES = `
  ALTER TABLE webhooks ADD COLUMN name TEXT;
  CREATE UNIQUE INDEX webhooks_name ON webhooks (org_id, name) WHERE name IS NOT NULL;
`;
