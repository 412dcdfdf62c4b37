import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Dockerd, startDockerd } from "./dockerd.ts";

const WAITS_MS = 120_000;

/** One daemon for all test files of a run: the first to ask starts it, global-setup.ts stops it. */
export async function sharedDockerd(): Promise<Dockerd> {
  const run = process.env.SANDBOXER_RUN_DIRECTORY;
  if (!run) throw new Error("a docker daemon is started by vitest runs only: see global-setup.ts");
  const answer = join(run, "docker.json");
  if (claims(join(run, "docker"))) {
    const outcome = await startDockerd(join(run, "docker")).catch((error: Error) => ({
      problem: error.message,
    }));
    writeFileSync(`${answer}.part`, JSON.stringify(outcome));
    renameSync(`${answer}.part`, answer);
  }
  for (const deadline = Date.now() + WAITS_MS; !existsSync(answer); await sleep(50)) {
    if (Date.now() > deadline) throw new Error("dockerd, started by another test file, did not come up");
  }
  const outcome = JSON.parse(readFileSync(answer, "utf8")) as Dockerd | { problem: string };
  if ("problem" in outcome) throw new Error(outcome.problem);
  return outcome;
}

/** Making a folder is atomic: exactly one process gets to. */
function claims(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}
