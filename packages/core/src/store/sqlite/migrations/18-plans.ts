/** What work of several commits was going to make, and who was at it, until it has an answer. */
export const PLANS = `
  ALTER TABLE idempotency ADD COLUMN plan TEXT;
  ALTER TABLE idempotency ADD COLUMN creator TEXT;
`;
