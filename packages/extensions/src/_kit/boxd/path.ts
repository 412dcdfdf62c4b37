import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The boxd of this checkout, or the one SANDBOXER_BOXD names. */
export function findBoxd(): string {
  return (
    process.env.SANDBOXER_BOXD ??
    fileURLToPath(new URL("../../../../boxd/target/release/boxd", import.meta.url))
  );
}

export const BOXD_FIX =
  "Install Rust 1.85 or newer (rustup, or your distribution's cargo) and run `npm install` again.";

export function hasBoxd(path: string): boolean {
  return existsSync(path);
}
