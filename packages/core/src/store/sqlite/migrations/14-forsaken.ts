/** The last to be attached has left, and what follows from that has not been done yet. */
export const FORSAKEN = `
  ALTER TABLE sandboxes ADD COLUMN forsaken INTEGER NOT NULL DEFAULT 0;
  DROP INDEX sandboxes_hibernating;
  CREATE INDEX sandboxes_forsaken ON sandboxes (id) WHERE forsaken = 1 AND ended_at_ms IS NULL;
`;
