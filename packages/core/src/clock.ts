export interface Clock {
  /** The wall, for what is recorded and charged. */
  nowMs(): number;
  /** Never goes back, for how long something took. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  // `performance` would be the same, and load what a short command has no use for.
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
};
