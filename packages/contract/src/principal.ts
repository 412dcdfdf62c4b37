import { z } from "zod";
import { isolationClassSchema } from "./isolation.ts";
import { microUsdSchema } from "./money.ts";

/** What a key may do. A key without an operation is refused before anything is looked at. */
export const OPERATIONS = [
  "sandbox.create",
  "sandbox.read",
  "sandbox.exec",
  "sandbox.files",
  "sandbox.ports",
  "sandbox.extend",
  "sandbox.pause",
  "sandbox.network",
  "sandbox.destroy",
  "key.create",
  "key.read",
  "key.revoke",
  "budget.write",
  "profile.publish",
  "event.read",
  "webhook.write",
] as const;
export const operationSchema = z.enum(OPERATIONS);
export type Operation = z.infer<typeof operationSchema>;

/** The limits of one link in a delegation chain. A member left out adds no limit of its own. */
export const rightsSchema = z.strictObject({
  operations: z.array(operationSchema).optional(),
  extensions: z.array(z.string()).optional(),
  /** Profiles it may use, as `python` or `python@2`; without one it may then create nothing. */
  profiles: z.array(z.string()).optional(),
  /** Named sets of network rules it may open, as in `npm`; with it, no hosts of its own. */
  ruleSets: z.array(z.string()).optional(),
  minimumIsolation: isolationClassSchema.optional(),
  maximumTtlMs: z.int().positive().optional(),
  /** What everything below this key may cost in all. Held on the parent's budget from the start. */
  budgetMicroUsd: microUsdSchema.nonnegative().optional(),
});
export type Rights = z.infer<typeof rightsSchema>;

export interface Principal {
  readonly id: string;
  readonly orgId: string;
  readonly keyId: string;
  /** From the root key down to the key in use. Effective rights are what every link allows. */
  readonly chain: readonly Rights[];
  /** The principals of that chain, this one last: all of them see what it keeps private. */
  readonly lineage: readonly string[];
  readonly team?: string;
  /** When the first key of the chain runs out. */
  readonly expiresAtMs?: number;
}

/** Who a sandbox is for; recorded on every sandbox, event and charge. */
export const consumerSchema = z.strictObject({
  kind: z.enum(["person", "agent", "automation"]).default("person"),
  project: z.string().max(200).optional(),
  task: z.string().max(200).optional(),
});
export type Consumer = z.infer<typeof consumerSchema>;

/** Who sees a sandbox besides its principal and that one's ancestors, who always do. */
export const VISIBILITIES = ["private", "team", "org"] as const;
export const visibilitySchema = z.enum(VISIBILITIES);
export type Visibility = z.infer<typeof visibilitySchema>;
