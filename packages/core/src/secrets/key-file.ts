import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { SandboxerError } from "@sandboxer/contract";

const KEY_BYTES = 32;

/**
 * The key that seals this installation's secrets: in a file of its own, never in the database, made
 * at the first start and readable by its owner alone.
 */
export function openKeyFile(path: string): Uint8Array {
  const key = readKey(path) ?? makeKey(path);
  if (key.length !== KEY_BYTES) throw wrong(`${path} does not hold ${KEY_BYTES} bytes in hex`);
  return key;
}

function readKey(path: string): Uint8Array | undefined {
  try {
    if ((statSync(path).mode & 0o077) !== 0) throw wrong(`${path} can be read by others`);
    return Buffer.from(readFileSync(path, "utf8").trim(), "hex");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Two that start at once both end up with the first one's: a link never replaces a file. */
function makeKey(path: string): Uint8Array {
  const draft = `${path}.${process.pid}`;
  const key = randomBytes(KEY_BYTES);
  writeFileSync(draft, `${key.toString("hex")}\n`, { mode: 0o600, flag: "wx" });
  try {
    linkSync(draft, path);
    return key;
  } catch (error) {
    const first = readKey(path);
    if (first) return first;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function wrong(message: string): SandboxerError {
  return new SandboxerError("invalid_request", message, {
    hint: "Put the right key file back with mode 0600; without it, what it sealed cannot be read.",
  });
}
