import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { SandboxerError } from "@sandboxer/contract";

/** The public half in a file, of either half, as the gateway wants it written. */
export function identityIn(path: string): string {
  const { x = "" } = keyIn(path, createPublicKey).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64");
}

export function signerIn(path: string): (bytes: Uint8Array) => Uint8Array {
  const key = keyIn(path, createPrivateKey);
  return (bytes) => new Uint8Array(sign(null, bytes, key));
}

function keyIn(path: string, read: (pem: string) => KeyObject): KeyObject {
  try {
    const key = read(readFileSync(path, "utf8"));
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch {
    // Said below, and without a word of what is in the file.
  }
  throw new SandboxerError("invalid_request", `${path} holds no Ed25519 key`, {
    hint: "Make one with `openssl genpkey -algorithm ed25519 -out agent.key`.",
  });
}
