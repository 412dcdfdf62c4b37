import { linkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newApiKey, SandboxerError } from "@sandboxer/contract";
import { findRootKey } from "./home.ts";

/**
 * The key that holds every right on this installation. Unless the environment names one it is
 * made once and kept in `<home>/root.key`, readable by its owner alone: whoever can read that
 * file can read `state.db` beside it too, and so the CLI on this machine works without a login.
 * Core itself keeps only a hash.
 */
export function openRootKey(home: string): string {
  const key = findRootKey(home) ?? makeRootKey(home);
  if (/^e2b_[0-9a-f]{16,}$/.test(key) || /^[\x21-\x7e]{20,512}$/.test(key)) return key;
  throw new SandboxerError("invalid_request", "the root key is too short or holds odd characters", {
    hint: "Set SANDBOXER_API_KEY to at least 20 visible characters, or unset it to have one made.",
  });
}

/** Two that start at once both end up with the first one's key: a link never replaces a file. */
function makeRootKey(home: string): string {
  const file = join(home, "root.key");
  const draft = `${file}.${process.pid}`;
  const key = newApiKey();
  writeFileSync(draft, `${key}\n`, { mode: 0o600 });
  try {
    linkSync(draft, file);
    return key;
  } catch (error) {
    const first = findRootKey(home);
    if (first) return first;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
