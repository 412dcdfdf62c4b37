import { z } from "zod";
import { nameSchema } from "./ids.ts";
import { microUsdSchema } from "./money.ts";
import { sandboxSpecSchema } from "./spec.ts";

/** An account: what may be spent, what is bound by living sandboxes and derived keys, what is gone. */
export const budgetSchema = z.strictObject({
  /** The org's id, or the id of the key it was given to. */
  accountId: z.string(),
  /** Absent when there is no limit. */
  limitMicroUsd: microUsdSchema.optional(),
  /** Absent when there is no limit. */
  availableMicroUsd: microUsdSchema.optional(),
  heldMicroUsd: microUsdSchema,
  spentMicroUsd: microUsdSchema,
});
export type Budget = z.infer<typeof budgetSchema>;

export const setBudgetBodySchema = z.strictObject({
  limitMicroUsd: microUsdSchema.nonnegative().nullable(),
  /** A tenant by name, for the installation's root key; left out, one's own org. */
  org: nameSchema.optional(),
});
export type SetBudgetBody = z.input<typeof setBudgetBodySchema>;

export const setKeyBudgetBodySchema = z.strictObject({ limitMicroUsd: microUsdSchema.nonnegative() });
export type SetKeyBudgetBody = z.input<typeof setKeyBudgetBodySchema>;

/** The end moves to this long from now. */
export const extendBodySchema = z.strictObject({ ttlMs: sandboxSpecSchema.shape.ttlMs });
export type ExtendBody = z.input<typeof extendBodySchema>;
