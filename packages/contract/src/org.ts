import { z } from "zod";
import { nameSchema } from "./ids.ts";
import { rightsSchema } from "./rights.ts";

/** A tenant: keys, sandboxes, profiles, money and a log of its own, none of which another sees. */
export const orgSchema = z.strictObject({
  id: z.string(),
  name: nameSchema,
  createdAtMs: z.int(),
});
export type Org = z.infer<typeof orgSchema>;

/** Its limits are its root key's, and so those of every key below; its budget is the operator's to set. */
export const createOrgBodySchema = rightsSchema.extend({ name: nameSchema });
export type CreateOrgBody = z.input<typeof createOrgBodySchema>;

/** The root key of the new org; shown only here. */
export const createdOrgSchema = z.strictObject({ org: orgSchema, apiKey: z.string() });
export type CreatedOrg = z.infer<typeof createdOrgSchema>;

export const orgListSchema = z.strictObject({ orgs: z.array(orgSchema) });
