import { type GuardedSecret, SandboxerError } from "@sandboxer/contract";
import type { Shape } from "./shape.ts";

/** A key of AWS, which is an id, a secret to sign with, and perhaps a token. */
export interface AwsKey {
  readonly id: string;
  readonly secret: string;
  readonly token?: string;
}

const WRITTEN = /^([A-Z0-9]{16,128}):([A-Za-z0-9/+=]{16,128})(?::([A-Za-z0-9/+=]{16,8192}))?$/;

/** Says nothing of what was there instead. */
export function parseAwsKey(text: string): AwsKey {
  const [, id, secret, token] = WRITTEN.exec(text) ?? [];
  if (id && secret) return { id, secret, ...(token && { token }) };
  throw new SandboxerError("invalid_request", "value: it is no key that signs", {
    hint: "Give id:secret, or id:secret:token, on one line.",
  });
}

/** What stands inside for the parts that have no shape of their own. */
const SECRET: Shape = { prefix: "", alphabet: "mixed", length: 40 };
const TOKEN: Shape = { prefix: "", alphabet: "mixed", length: 64 };

type Draw = (purpose: string, shape: Shape) => string;

/** A token stands inside whether or not there is one: the next value may have one. */
export function awsPlaceholders(draw: Draw): { readonly secret: string; readonly token: string } {
  return { secret: draw("secret", SECRET), token: draw("token", TOKEN) };
}

export function awsSigner(draw: Draw, key: AwsKey | undefined): NonNullable<GuardedSecret["signer"]> {
  const { secret, token } = awsPlaceholders(draw);
  return {
    secret: { placeholder: secret, ...(key && { value: key.secret }) },
    token: { placeholder: token, ...(key?.token && { value: key.token }) },
  };
}

export function awsVariables(prefix: string, id: string, draw: Draw): Record<string, string> {
  const { secret, token } = awsPlaceholders(draw);
  return {
    [`${prefix}_ACCESS_KEY_ID`]: id,
    [`${prefix}_SECRET_ACCESS_KEY`]: secret,
    [`${prefix}_SESSION_TOKEN`]: token,
  };
}
