import { createHash, type KeyObject } from "node:crypto";

export function digestOf(bytes: Uint8Array | string): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** Which key it is, as people compare it. */
export function fingerprintOf(publicKey: KeyObject): string {
  return digestOf(publicKey.export({ type: "spki", format: "der" }));
}
