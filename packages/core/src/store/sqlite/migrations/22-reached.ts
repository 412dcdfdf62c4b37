/** What a sandbox reached is read for its receipt, among all that ever happened. */
export const REACHED = `
  CREATE INDEX events_of_reach ON events (sandbox_id, seq) WHERE type = 'network.reached';
`;
