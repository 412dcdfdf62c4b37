import { createHash, timingSafeEqual } from "node:crypto";
import { SandboxerError } from "@sandboxer/contract";

const MOST_SANDBOXES = 20_000;
const MOST_TOKENS = 16;

/** A file's address with a signature in place of a token. */
export interface Signed {
  readonly path: string;
  readonly username: string;
  readonly operation: "read" | "write";
  readonly signature: string;
  readonly expiration: string | undefined;
}

/**
 * The tokens that were given out for each sandbox: a signature is a hash with one of them in it, so
 * only who knows the token can tell whose it is.
 */
export interface Signatures {
  learn(sandboxId: string, token: string): void;
  knows(sandboxId: string): boolean;
  forget(sandboxId: string): void;
  /** Whose signature it is, of this sandbox or of any. */
  find(
    signed: Signed,
    sandboxId?: string,
  ): { readonly sandboxId: string; readonly token: string } | undefined;
}

export function createSignatures(): Signatures {
  const tokens = new Map<string, Set<string>>();
  return {
    learn(sandboxId, token) {
      const known = tokens.get(sandboxId) ?? new Set();
      known.add(token);
      if (known.size > MOST_TOKENS) known.delete([...known][0] as string);
      tokens.set(sandboxId, known);
      if (tokens.size > MOST_SANDBOXES) tokens.delete([...tokens.keys()][0] as string);
    },
    knows: (sandboxId) => tokens.has(sandboxId),
    forget: (sandboxId) => void tokens.delete(sandboxId),
    find(signed, sandboxId) {
      const among = sandboxId === undefined ? tokens : [[sandboxId, tokens.get(sandboxId) ?? []] as const];
      for (const [id, known] of among) {
        for (const token of known) if (isRight(signed, token)) return { sandboxId: id, token };
      }
      return undefined;
    },
  };
}

export function isRight(signed: Signed, token: string): boolean {
  const { path, operation, username, expiration, signature } = signed;
  const text = [path, operation, username, token, ...(expiration === undefined ? [] : [expiration])].join(
    ":",
  );
  const hash = createHash("sha256").update(text).digest("base64").replace(/=+$/, "");
  const [given, right] = [Buffer.from(signature), Buffer.from(`v1_${hash}`)];
  return given.length === right.length && timingSafeEqual(given, right);
}

/** Asked only of a signature that is right. */
export function refuseExpired({ expiration }: Signed): void {
  if (expiration !== undefined && !(Number(expiration) >= Math.floor(Date.now() / 1_000))) {
    throw new SandboxerError("unauthenticated", "signature is already expired");
  }
}
