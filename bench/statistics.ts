/** Milliseconds. Medians are compared and p95 shows the tail; there are no means, which one outlier moves. */
export interface Statistics {
  readonly samples: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  readonly minMs: number;
}

export function statistics(durationsMs: readonly number[]): Statistics {
  if (durationsMs.length === 0) throw new RangeError("nothing was measured");
  const sorted = durationsMs.toSorted((a, b) => a - b);
  /** The smallest sample that at least this share of all does not exceed. */
  const nearestRank = (share: number): number =>
    sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  const middle = sorted.length / 2;
  return {
    samples: sorted.length,
    medianMs: ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2,
    p95Ms: nearestRank(0.95),
    minMs: nearestRank(0),
  };
}

/** How many times longer the peer takes: above one, ours is faster. */
export function ratio(peer: Statistics | undefined, ours: Statistics | undefined): number | undefined {
  return peer && ours && ours.medianMs > 0 ? peer.medianMs / ours.medianMs : undefined;
}
