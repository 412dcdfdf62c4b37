import { z } from "zod";
import { isolationClassSchema } from "./isolation.ts";

/** What a key may do. A key without an operation is refused before anything is looked at. */
export const OPERATIONS = [
  "sandbox.create",
  "sandbox.read",
  "sandbox.exec",
  "sandbox.files",
  "sandbox.ports",
  "sandbox.destroy",
] as const;
export const operationSchema = z.enum(OPERATIONS);
export type Operation = z.infer<typeof operationSchema>;

/** The limits of one link in a delegation chain. A member left out adds no limit of its own. */
export const rightsSchema = z.strictObject({
  operations: z.array(operationSchema).optional(),
  extensions: z.array(z.string()).optional(),
  minimumIsolation: isolationClassSchema.optional(),
  maximumTtlMs: z.int().positive().optional(),
});
export type Rights = z.infer<typeof rightsSchema>;

export interface Principal {
  readonly id: string;
  readonly orgId: string;
  readonly keyId: string;
  /** From the root key down to the key in use. Effective rights are what every link allows. */
  readonly chain: readonly Rights[];
}

/** Who a sandbox is for; recorded on every sandbox, event and charge. */
export const consumerSchema = z.strictObject({
  kind: z.enum(["person", "agent", "automation"]).default("person"),
  project: z.string().max(200).optional(),
  task: z.string().max(200).optional(),
});
export type Consumer = z.infer<typeof consumerSchema>;
