/**
 * What an hour costs changes when a sandbox is paused and when it goes on. A stretch at one rate is
 * charged as one, from its start and beyond what was charged before it.
 */
export const PAUSED_RATES = `
  ALTER TABLE sandboxes ADD COLUMN running_micro_usd_per_hour INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE sandboxes ADD COLUMN paused_micro_usd_per_hour INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE sandboxes ADD COLUMN rate_since_ms INTEGER;
  ALTER TABLE sandboxes ADD COLUMN cost_before_micro_usd INTEGER NOT NULL DEFAULT 0;
  UPDATE sandboxes SET running_micro_usd_per_hour = micro_usd_per_hour,
    paused_micro_usd_per_hour = micro_usd_per_hour, rate_since_ms = started_at_ms;
`;
