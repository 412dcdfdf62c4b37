/** One living sandbox a label; what is on its way out no longer counts. */
export const REUSE = `
  ALTER TABLE sandboxes ADD COLUMN reuse TEXT;
  ALTER TABLE sandboxes ADD COLUMN label TEXT;
  CREATE UNIQUE INDEX sandboxes_living_label ON sandboxes (org_id, label)
    WHERE label IS NOT NULL AND ended_at_ms IS NULL AND state <> 'destroying';
`;
