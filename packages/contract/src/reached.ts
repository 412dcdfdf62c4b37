import { z } from "zod";
import { networkCallSchema } from "./guard.ts";

/** A place that a sandbox tried to reach, as often as it was let there or refused by the same rule. */
export const reachedPlaceSchema = z.strictObject({
  /** The name as it was asked for. */
  host: z.string().optional(),
  /** Where only an address was. */
  address: z.string().optional(),
  port: z.int(),
  method: z.string().optional(),
  scheme: networkCallSchema.shape.scheme,
  /** `allowed` and `audited` were let through; `failed` was, or would have been, and nobody answered. */
  verdict: z.enum(["allowed", "denied", "audited", "failed"]),
  /** The rule that decided. */
  rule: z.string().optional(),
  cure: networkCallSchema.shape.cure,
  times: z.int().nonnegative(),
  upBytes: z.int().nonnegative(),
  downBytes: z.int().nonnegative(),
});
export type ReachedPlace = z.infer<typeof reachedPlaceSchema>;

/** Where a sandbox tried to go, from outside. */
export const reachedSchema = z.strictObject({
  places: z.array(reachedPlaceSchema),
  /** Attempts at further places, which are no longer told apart. */
  others: z.int().nonnegative(),
});
export type Reached = z.infer<typeof reachedSchema>;
