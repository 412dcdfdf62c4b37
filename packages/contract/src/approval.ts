import { z } from "zod";
import { rowIdSchema, sandboxIdSchema } from "./ids.ts";
import { principalKindSchema } from "./key.ts";
import { egressRuleSchema } from "./network.ts";
import type { Operation } from "./roles.ts";

/** Operations that a profile may mark: each then waits for somebody else's word. */
export const APPROVABLE = [
  "sandbox.create",
  "sandbox.exec",
  "sandbox.extend",
  "sandbox.network",
  "sandbox.snapshot",
  "sandbox.destroy",
  "sandbox.attach",
  "workspace.apply",
] as const satisfies Operation[];
export const approvalsSchema = z.array(z.enum(APPROVABLE)).max(APPROVABLE.length);

/** What a program inside wants to do right now. It waits meanwhile. */
export const askedCallSchema = z.strictObject({
  kind: z.enum(["connection", "request", "signature"]),
  host: z.string(),
  port: z.int(),
  protocol: z.enum(["https", "http", "tcp", "ssh"]),
  method: z.string().optional(),
  path: z.string().optional(),
  query: z.string().optional(),
  /** Of a signature: the secret's name, the key's and the host key's fingerprints, and who logs in. */
  key: z.string().optional(),
  fingerprint: z.string().optional(),
  hostKey: z.string().optional(),
  user: z.string().optional(),
  /** The rule that asks; none where the mode does. */
  rule: z.string().optional(),
  attachmentId: z.string().optional(),
});
export type AskedCall = z.infer<typeof askedCallSchema>;

/** Exactly what is asked for: a yes is for this, once. */
const actionSchema = z.discriminatedUnion("kind", [
  askedCallSchema.extend({ kind: z.literal("connection") }),
  askedCallSchema.extend({ kind: z.literal("request") }),
  askedCallSchema.extend({ kind: z.literal("signature") }),
  z.strictObject({
    kind: z.literal("operation"),
    operation: z.enum(APPROVABLE),
    /** The request, as far as a person needs it to decide; variables only by name. */
    said: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({
    kind: z.literal("elevation"),
    rules: z.array(egressRuleSchema).min(1).max(64),
    durationMs: z.int(),
    reason: z.string(),
  }),
]);
export type Action = z.infer<typeof actionSchema>;

/** `approved` waits to be used; `withdrawn`: whoever asked has left. */
export const APPROVAL_STATES = ["pending", "approved", "used", "denied", "expired", "withdrawn"] as const;
const approvalStateSchema = z.enum(APPROVAL_STATES);
export type ApprovalState = z.infer<typeof approvalStateSchema>;

export const approvalSchema = z.strictObject({
  id: rowIdSchema,
  orgId: z.string(),
  sandboxId: sandboxIdSchema.optional(),
  /** Who asks, or acts in the sandbox that does. None of them decides, nor whoever is below them. */
  requesters: z.array(z.strictObject({ principalId: z.string(), kind: principalKindSchema })),
  action: actionSchema,
  state: approvalStateSchema,
  /** `sandbox`: the same is allowed there from then on, by a rule that was written down. */
  scope: z.enum(["once", "sandbox"]).optional(),
  createdAtMs: z.int(),
  /** Then it is denied; of one that was approved, until when it can be used. */
  expiresAtMs: z.int(),
  decidedAtMs: z.int().optional(),
  decidedByPrincipalId: z.string().optional(),
  /** Whoever looks at it may decide it. */
  isYours: z.literal(true).optional(),
});
export type Approval = z.infer<typeof approvalSchema>;

export const approvalListSchema = z.strictObject({ approvals: z.array(approvalSchema) });

export const decideBodySchema = z.strictObject({
  decision: z.enum(["approve", "deny"]),
  scope: z.enum(["once", "sandbox"]).default("once"),
});
export type DecideBody = z.input<typeof decideBodySchema>;

export const MAXIMUM_ELEVATION_MS = 8 * 3_600_000;

/** More ways out for one sandbox and for a while, if somebody else says so. */
export const elevateBodySchema = z.strictObject({
  rules: z.array(egressRuleSchema).min(1).max(64),
  durationMs: z.int().min(1_000).max(MAXIMUM_ELEVATION_MS),
  /** For whoever decides. */
  reason: z.string().min(1).max(500),
});
export type ElevateBody = z.input<typeof elevateBodySchema>;
