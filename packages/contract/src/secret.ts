import { z } from "zod";
import { parseHostPattern } from "./host.ts";
import { rowIdSchema } from "./ids.ts";
import { secretNameSchema } from "./rights.ts";

/** As it stands in the scope of a signature. */
const scopeWordSchema = z.string().regex(/^[a-z0-9-]{1,64}$/, "small letters, digits and -");

const hostKeySchema = z
  .string()
  .regex(/^SHA256:[A-Za-z0-9+/]{43}$/, "a host key's fingerprint, as in SHA256:…");

/**
 * `in: "body"` is a field of a form, or a member of JSON by its pointer, as in `/auth/token`.
 * `in: "aws-sigv4"`: requests that were signed inside are signed again with the real key, for this
 * region and service. `in: "ssh"`: logins on that host are signed by an agent that is outside.
 */
const placeSchema = z.discriminatedUnion("in", [
  z.strictObject({
    in: z.literal("header"),
    name: z.string().regex(/^[A-Za-z0-9-]{1,64}$/, "a header's name"),
  }),
  z.strictObject({ in: z.literal("query"), name: z.string().min(1).max(64) }),
  z.strictObject({ in: z.literal("body"), name: z.string().min(1).max(256) }),
  z.strictObject({ in: z.literal("aws-sigv4"), region: scopeWordSchema, service: scopeWordSchema }),
  z
    .strictObject({
      in: z.literal("ssh"),
      sign: z.enum(["allow", "ask", "deny"]).default("ask"),
      /** Of the host, as `ssh-keygen -l` writes them: which host a login is for is known by these alone. */
      hostKeys: z.array(hostKeySchema).min(1).max(16).optional(),
    })
    .refine(({ sign, hostKeys }) => sign !== "allow" || hostKeys, "allow needs hostKeys"),
]);

/**
 * Where a secret may be put in: this host, these ports and paths, that one place of a request, and
 * only through TLS. Anywhere else its placeholder is stopped.
 */
export const secretBindingSchema = z.strictObject({
  host: z
    .string()
    .max(255)
    .refine((text) => parseHostPattern(text) !== undefined, "a host such as api.example.com"),
  ports: z.array(z.int().min(1).max(65_535)).min(1).max(16).default([443]),
  /** Globs, as in rules; any path, unless said. */
  paths: z.array(z.string().startsWith("/").max(1_024)).min(1).max(64).optional(),
  place: placeSchema,
});
export type SecretBinding = z.infer<typeof secretBindingSchema>;

/** What a secret is for: to be put somewhere, to sign requests, or to sign logins. */
export type SecretUse = "word" | "aws-sigv4" | "ssh";

export function useOf(bindings: readonly SecretBinding[]): SecretUse {
  const [place] = bindings.map((one) => one.place.in);
  return place === "aws-sigv4" || place === "ssh" ? place : "word";
}

/** None: it goes only where a rule of a sandbox of its owner's writes it. */
const bindingsSchema = z
  .array(secretBindingSchema)
  .max(32)
  .refine(
    (bindings) => new Set(bindings.map((one) => useOf([one]))).size <= 1,
    "a secret is put in, signs requests or signs logins; only one of these",
  );

/**
 * A header carries no line breaks, and what is shorter could not be told from other words. Only a key as
 * `ssh-keygen` writes it has several lines.
 */
const valueSchema = z
  .string()
  .regex(
    /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?|-----BEGIN OPENSSH PRIVATE KEY-----\n[A-Za-z0-9+/=\n]+-----END OPENSSH PRIVATE KEY-----\n?)$/,
    "visible ASCII on one line, or a private key of OpenSSH's",
  )
  .min(8)
  .max(8_192);

const variableSchema = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "a variable's name");

/** `env:NAME` and `file:/path` are the gateway's own; what stands there is read when it is needed. */
const refSchema = z
  .string()
  .max(1_024)
  .regex(/^(?:env:[A-Za-z_][A-Za-z0-9_]*|file:\/[^\0]+)$/, "env:NAME or file:/path");

/** Exactly one of `value`, `ref` and `command` says what it is. */
export const setSecretBodySchema = z
  .strictObject({
    /** Kept by us, sealed. It is never shown again. For `aws-sigv4`: `id:secret`, or `id:secret:token`. */
    value: valueSchema.optional(),
    ref: refSchema.optional(),
    /** Prints it on its first line: how another vault is asked. */
    command: z
      .array(z.string().regex(/^[^\0]*$/, "no NUL"))
      .min(1)
      .max(32)
      .optional(),
    bindings: bindingsSchema,
    /**
     * The variable inside that holds its placeholder; its own name, unless said. For `aws-sigv4` what the
     * three variables begin with: `AWS`, unless said. For `ssh` it is always `SSH_AUTH_SOCK`.
     */
    variable: variableSchema.optional(),
  })
  .refine(
    ({ value, ref, command }) => [value, ref, command].filter((one) => one !== undefined).length === 1,
    "give exactly one of value, ref and command",
  );
export type SetSecretBody = z.input<typeof setSecretBodySchema>;

/** The new value; left out where it comes from elsewhere, which is then read again. */
export const rotateSecretBodySchema = z.strictObject({ value: valueSchema.optional() });
export type RotateSecretBody = z.input<typeof rotateSecretBodySchema>;

export const grantSecretBodySchema = z.strictObject({
  /** The caller's own key or one derived from it. */
  keyId: rowIdSchema,
});

/** A secret as its owner and those it was granted to see it. What it is, nobody sees. */
export const secretSchema = z.strictObject({
  id: rowIdSchema,
  orgId: z.string(),
  name: secretNameSchema,
  principalId: z.string(),
  /** `vault:`, `env:NAME`, `file:/path` or `command:program`. */
  ref: z.string(),
  bindings: bindingsSchema,
  variable: variableSchema,
  /** Counts its values. */
  version: z.int().positive(),
  grants: z.array(
    z.strictObject({
      keyId: z.string(),
      principalId: z.string(),
      byPrincipalId: z.string(),
      atMs: z.int(),
    }),
  ),
  createdAtMs: z.int(),
  rotatedAtMs: z.int(),
});
export type Secret = z.infer<typeof secretSchema>;

export const secretListSchema = z.strictObject({ secrets: z.array(secretSchema) });
