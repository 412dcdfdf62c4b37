import { z } from "zod";

/**
 * What a sandbox uses, counted outside of it: nothing inside is ever the source of a figure. One
 * that is not known is absent.
 */
export const metricsSchema = z.strictObject({
  atMs: z.int(),
  /** Of all its processes, the dead included. */
  cpuTimeMs: z.int().nonnegative(),
  memoryBytes: z.int().nonnegative(),
  memoryLimitBytes: z.int().nonnegative().optional(),
  memoryPeakBytes: z.int().nonnegative().optional(),
  /** Processes and threads that live. */
  pids: z.int().nonnegative(),
  diskBytes: z.int().nonnegative().optional(),
  /** Processes ended because the memory was used up. */
  oomKills: z.int().nonnegative(),
  bytesIn: z.int().nonnegative().optional(),
  bytesOut: z.int().nonnegative().optional(),
});
export type Metrics = z.infer<typeof metricsSchema>;
