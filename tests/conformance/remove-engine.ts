import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/**
 * Removes an engine's folder. Ended sandboxes are cleared away by boxd, in the background and with
 * the rights it takes (an overlay's work folder has none for its owner), so that is awaited.
 */
export async function removeEngine(engineDir: string, wholeDir = engineDir): Promise<void> {
  const deadline = Date.now() + 10_000;
  while ((await readdir(join(engineDir, "trash")).catch(() => [])).length > 0 && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await rm(wholeDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}
