import { SandboxerError } from "@sandboxer/contract";
import { Connection, dial } from "../_kit/boxd/index.ts";

/** A sandbox that does not answer is stopped as it is. */
const PATIENCE_MS = 2_000;

/** Has a sandbox let go of what is half written, and begin no more of it until this is released. */
export async function settle(socketPath: string): Promise<(() => void) | undefined> {
  const socket = await dial(socketPath);
  if (!socket) return undefined;
  const silent = new SandboxerError("extension_unavailable", "the sandbox is silent");
  const connection = new Connection(socket, async () => silent);
  const timer = setTimeout(() => connection.close(), PATIENCE_MS);
  try {
    await connection.hello;
    await connection.call("settle");
  } catch {
    // One of an earlier version knows nothing of it.
  } finally {
    clearTimeout(timer);
  }
  return () => connection.close();
}
