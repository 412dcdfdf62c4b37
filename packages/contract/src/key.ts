import { z } from "zod";
import { nameSchema, rowIdSchema } from "./ids.ts";
import { operationSchema, rightsSchema } from "./rights.ts";
import { ROLES, type Role } from "./roles.ts";
import { identitySchema, trustTierSchema } from "./trust.ts";

export const roleSchema = z.enum(Object.keys(ROLES) as [Role, ...Role[]]);

export const principalKindSchema = z.enum(["user", "service", "agent"]);

/** A key as its owner sees it. The key itself is shown when it is made, and never again. */
export const keySchema = z.strictObject({
  id: rowIdSchema,
  orgId: z.string(),
  parentId: z.string().optional(),
  name: nameSchema.optional(),
  role: roleSchema.optional(),
  rights: rightsSchema,
  principal: z.strictObject({
    id: z.string(),
    kind: principalKindSchema,
    team: nameSchema.optional(),
  }),
  /** The Ed25519 key that its holder has, and until when that is proven. */
  identity: identitySchema.optional(),
  provenUntilMs: z.int().optional(),
  createdAtMs: z.int(),
  expiresAtMs: z.int().optional(),
  revokedAtMs: z.int().optional(),
});
export type Key = z.infer<typeof keySchema>;

/** Every member narrows; what is left out is as wide as the key that asks. */
export const createKeyBodySchema = rightsSchema.extend({
  name: nameSchema.optional(),
  /** Who will hold it. */
  kind: principalKindSchema.default("agent"),
  team: nameSchema.optional(),
  /** The Ed25519 key of who will hold it, which that one has to prove. */
  identity: identitySchema.optional(),
  /** Instead of `operations`. */
  role: roleSchema.optional(),
  operations: z.array(operationSchema).optional(),
  expiresAtMs: z.int().positive().optional(),
});
export type CreateKeyBody = z.input<typeof createKeyBodySchema>;

export const createdKeySchema = z.strictObject({ apiKey: z.string(), key: keySchema });
export type CreatedKey = z.infer<typeof createdKeySchema>;

export const keyListSchema = z.strictObject({ keys: z.array(keySchema) });

/** The key and everything derived from it. */
export const revokedKeysSchema = z.strictObject({ revoked: z.array(z.string()) });

/** Who asks, and what is left of its rights after every link of its chain. */
export const whoamiSchema = z.strictObject({
  principalId: z.string(),
  orgId: z.string(),
  keyId: z.string(),
  team: z.string().optional(),
  expiresAtMs: z.int().optional(),
  /** Of an agent. */
  trust: trustTierSchema.optional(),
  rights: rightsSchema,
});
export type Whoami = z.infer<typeof whoamiSchema>;
