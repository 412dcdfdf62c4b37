import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { endProcessesOf, readOrNothing } from "../capabilities/processes.ts";

/**
 * Ends what still lives in an engine's folder and removes it. Ended sandboxes are cleared away by
 * boxd, in the background and with the rights it takes (an overlay's work folder has none for its
 * owner), so that is awaited.
 */
export async function removeEngine(engineDir: string, wholeDir = engineDir): Promise<void> {
  const namesIn = (room: string) => readdir(join(engineDir, room)).catch(() => []);
  for (const box of await namesIn("boxes")) await endFirstProcess(join(engineDir, "boxes", box));
  const deadline = Date.now() + 60_000;
  while ([...(await namesIn("boxes")), ...(await namesIn("trash"))].length > 0 && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  endProcessesOf(engineDir);
  await rm(wholeDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

/** With it goes everything that runs there. Its number is checked: it may be somebody else's by now. */
async function endFirstProcess(box: string): Promise<void> {
  const record = await readFile(join(box, "box.json"), "utf8").catch(() => "{}");
  const pid = Number(JSON.parse(record).pid);
  if (!(pid > 1) || !readOrNothing(`/proc/${pid}/cmdline`).startsWith("boxd serve")) return;
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It left by itself in the meantime.
  }
}
