export interface Clock {
  /** The wall, for what is recorded and charged. */
  nowMs(): number;
  /** Never goes back, for how long something took. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
