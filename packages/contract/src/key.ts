import { z } from "zod";
import { nameSchema, rowIdSchema } from "./ids.ts";
import { OPERATIONS, type Operation, operationSchema, rightsSchema } from "./rights.ts";
import { identitySchema, trustTierSchema } from "./trust.ts";

const VIEWER = [
  "sandbox.read",
  "key.read",
  "event.read",
  "secret.read",
  "volume.read",
  "approval.read",
] as const satisfies Operation[];
const OPERATOR = [
  ...VIEWER,
  "sandbox.create",
  "sandbox.exec",
  "sandbox.files",
  "sandbox.pause",
  "sandbox.extend",
  "sandbox.destroy",
  "sandbox.snapshot",
  "sandbox.attach",
  "sandbox.elevate",
  "volume.write",
] as const satisfies Operation[];

/** Roles are names for operations, nothing more. An admin has all there are. */
export const ROLES = {
  viewer: VIEWER,
  operator: OPERATOR,
  admin: OPERATIONS,
} as const satisfies Record<string, readonly Operation[]>;
export const roleSchema = z.enum(Object.keys(ROLES) as [Role, ...Role[]]);
export type Role = keyof typeof ROLES;

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
