/** A sandbox's own story, for its receipt. */
export const SANDBOX_EVENTS = `
  CREATE INDEX events_by_sandbox ON events (sandbox_id, seq)
    WHERE type IN ('sandbox.requested', 'sandbox.created', 'sandbox.failed');
`;
