import { z } from "zod";

/**
 * Sandbox ids are always ours. They become host labels (`3000-<id>.example.dev`), so they hold
 * neither a dash nor an upper-case letter. 20 characters of 36 carry about 103 bits.
 */
export const sandboxIdSchema = z
  .string()
  .regex(/^[a-z0-9]{20}$/, "a sandbox id is 20 characters of a-z and 0-9");

/** Clients choose names, unique among an owner's living sandboxes. */
export const nameSchema = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    "a name is 1 to 63 characters of a-z, 0-9 and -, not at the ends",
  );

/** Names an extension, as in `local` or `docker`. */
export const extensionIdSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, "an extension id is lower-case letters, digits and -");

/** Names a row of our own: `org_…`, `key_…`, `prn_…`, `evt_…`, `att_…`, `hld_…`, `sec_…`, `apr_…`, `vol_…`. */
const rowIdPattern = /^[a-z]{3}_[a-z0-9]{20}$/;
export const rowIdSchema = z.string().regex(rowIdPattern);

export type SandboxId = string;
export type RowIdKind =
  | "org"
  | "prn"
  | "key"
  | "att"
  | "evt"
  | "hld"
  | "ins"
  | "req"
  | "whk"
  | "con"
  | "snp"
  | "sec"
  | "apr"
  | "vol";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";

/** Asking for many bytes takes hardly longer than asking for a few, and every request draws ids. */
const drawn = new Uint8Array(2_048);
let used = drawn.length;

/** Each byte is given out once. */
function randomByte(): number {
  if (used === drawn.length) {
    crypto.getRandomValues(drawn);
    used = 0;
  }
  const byte = drawn[used] as number;
  drawn[used++] = 0;
  return byte;
}

/** Draws characters without modulo bias: bytes past the last whole multiple of 36 are redrawn. */
function randomCharacters(length: number): string {
  const limit = 256 - (256 % ALPHABET.length);
  let out = "";
  while (out.length < length) {
    const byte = randomByte();
    if (byte < limit) out += ALPHABET[byte % ALPHABET.length];
  }
  return out;
}

export function newSandboxId(): SandboxId {
  return randomCharacters(20);
}

export function newRowId(kind: RowIdKind): string {
  return `${kind}_${randomCharacters(20)}`;
}

/** API keys keep E2B's form, so that every version of its SDKs accepts them. 256 bits. */
export function newApiKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `e2b_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
