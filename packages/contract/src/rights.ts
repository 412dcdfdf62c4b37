import { z } from "zod";
import { isolationClassSchema } from "./isolation.ts";
import { microUsdSchema } from "./money.ts";
import { OPERATIONS } from "./roles.ts";

export const operationSchema = z.enum(OPERATIONS);

/** Whether files inside may be changed. */
export const accessSchema = z.enum(["read-only", "read-write"]);
export type Access = z.infer<typeof accessSchema>;

/** A name, `*.` before it for one label more, `**.` for any number, `**` for all; perhaps a port. */
export const networkRuleSchema = z
  .string()
  .max(253)
  .regex(
    /^(?:\*\*|(?:\*{1,2}\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*)(?::[1-9]\d{0,4})?$/,
    "a name such as api.example.com, *.example.com or **.example.com:443",
  );

const capabilitySchema = z.string().regex(/^[a-z0-9-]{1,64}$/, "a capability, as in packages");

export const secretNameSchema = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/, "a secret's name is letters, digits, _ . and -");

/** The limits of one link in a delegation chain. A member left out adds no limit of its own. */
export const rightsSchema = z.strictObject({
  operations: z.array(operationSchema).optional(),
  extensions: z.array(z.string()).optional(),
  /** Profiles it may use, as `python` or `python@2`; without one it may then create nothing. */
  profiles: z.array(z.string()).optional(),
  /** Names it may reach at most, as in `api.example.com` or `*.example.com:443`. */
  network: z.array(networkRuleSchema).optional(),
  /**
   * What it may have of the network, as names of rule sets: `none`, `packages`, `web-search`, or a single
   * set. A sandbox that says nothing of its network has these; none has a rule beyond them.
   */
  capabilities: z.array(capabilitySchema).max(32).optional(),
  /** Secrets it may have put into its requests, by name. */
  secrets: z.array(secretNameSchema).optional(),
  /** What it may do with files inside, wherever it is attached. */
  access: accessSchema.optional(),
  minimumIsolation: isolationClassSchema.optional(),
  maximumTtlMs: z.int().positive().optional(),
  /** What everything below this key may cost in all. Held on the parent's budget from the start. */
  budgetMicroUsd: microUsdSchema.nonnegative().optional(),
});
export type Rights = z.infer<typeof rightsSchema>;
