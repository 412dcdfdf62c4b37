import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SandboxerError } from "@sandboxer/contract";
import { findRunning } from "./home.ts";

/**
 * One listening gateway a home. The lock is SQLite's own on an empty database: the kernel holds
 * it and lets go of it with the process, however that ends, so that nothing is ever left stuck.
 */
export function lockHome(home: string): () => void {
  const database = new DatabaseSync(join(home, "gateway.lock"), { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    database.close();
    const running = findRunning(home);
    const where = running ? ` at ${running.url} (pid ${running.pid})` : "";
    throw new SandboxerError("conflict", `a gateway already runs for ${home}${where}`, {
      hint: "Use that one, end it, or set SANDBOXER_HOME to another folder.",
      cause,
    });
  }
  return () => database.close();
}
