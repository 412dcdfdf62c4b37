import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { SandboxerError } from "@sandboxer/contract";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const PREFIX = "sealed:1:";

/**
 * Keeps secrets that we must be able to read again, so that whoever has only the database has
 * nothing. What is sealed for one purpose does not open for another.
 */
export interface Sealer {
  seal(purpose: string, secret: string): string;
  /** `internal` when it was sealed under another key, for another purpose, or was changed. */
  open(purpose: string, sealed: string): string;
  /** The same bytes for the same purpose, for ever; nobody without the key can tell them. */
  derive(purpose: string, length: number): Uint8Array;
}

export function createSealer(key: Uint8Array): Sealer {
  const keyFor = (purpose: string) => new Uint8Array(hkdfSync("sha256", key, "sandboxer", purpose, 32));
  return {
    derive: (purpose, length) =>
      new Uint8Array(hkdfSync("sha256", key, "sandboxer derived", purpose, length)),
    seal(purpose, secret) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", keyFor(purpose), nonce);
      const sealed = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
      return PREFIX + Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64");
    },
    open(purpose, sealed) {
      const bytes = Buffer.from(sealed.slice(PREFIX.length), "base64");
      try {
        const decipher = createDecipheriv("aes-256-gcm", keyFor(purpose), bytes.subarray(0, NONCE_BYTES));
        decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        const secret = [decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()];
        return Buffer.concat(secret).toString("utf8");
      } catch (cause) {
        throw new SandboxerError("internal", "a secret does not open with this installation's key", {
          hint: "Put the key file back that was beside the database when it was written.",
          cause,
        });
      }
    },
  };
}

export function isSealed(text: string): boolean {
  return text.startsWith(PREFIX);
}
