import { z } from "zod";
import { rowIdSchema } from "./ids.ts";
import { isolationClassSchema } from "./isolation.ts";

/**
 * How far an agent is known. `verified`: it has proven that it holds the private half of the Ed25519
 * key that whoever made its key said it has. Users and services are nobody's unknown agents.
 */
export const TRUST_TIERS = ["unknown", "verified"] as const;
export const trustTierSchema = z.enum(TRUST_TIERS);
export type TrustTier = z.infer<typeof trustTierSchema>;

/** `strongest`: of the classes that could take the sandbox here and now, the strongest and no other. */
export const leastIsolationSchema = z.union([z.literal("strongest"), isolationClassSchema]);
export type LeastIsolation = z.infer<typeof leastIsolationSchema>;

/** What isolation an agent gets at least, by its tier; how long a proof holds. The operator's to say. */
export const trustPolicySchema = z.strictObject({
  unknown: leastIsolationSchema.default("strongest"),
  verified: leastIsolationSchema.default("process"),
  proofMs: z
    .int()
    .min(1_000)
    .default(24 * 3_600_000),
});
export type TrustPolicy = z.infer<typeof trustPolicySchema>;

/** The public half: its 32 bytes in base64. */
export const identitySchema = z.string().regex(/^[A-Za-z0-9+/]{43}=$/, "an Ed25519 key, 32 bytes in base64");

/** What is to be signed, byte for byte. It says whose identity it is for, so no other signature serves. */
export const identityChallengeSchema = z.strictObject({
  keyId: rowIdSchema,
  challenge: z.string(),
  expiresAtMs: z.int(),
});
export type IdentityChallenge = z.infer<typeof identityChallengeSchema>;

export const proveIdentityBodySchema = z.strictObject({
  challenge: z.string().max(500),
  /** Of the challenge's bytes, 64 bytes in base64. */
  signature: z.string().regex(/^[A-Za-z0-9+/]{86}==$/, "an Ed25519 signature, 64 bytes in base64"),
});
export type ProveIdentityBody = z.input<typeof proveIdentityBodySchema>;
