import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Vouches for this installation's snapshots; made once, readable by its owner alone. */
export function openSigningKey(home: string): KeyObject {
  const file = join(home, "snapshot.key");
  const read = () => createPrivateKey(readFileSync(file));
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const draft = `${file}.${process.pid}`;
  const { privateKey } = generateKeyPairSync("ed25519");
  writeFileSync(draft, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  try {
    // Of two that start at once both end up with the first one's: a link never replaces a file.
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return read();
}
