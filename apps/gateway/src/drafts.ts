import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** What is written whole or not at all is first written beside its place, under its writer's pid. */
const DRAFT =
  /^(?:(?:root|secrets|snapshot|tls)\.key|tls\.pem|gateway\.json|e2b-(?:builds|tags)\.json|state\.db)\.(\d+)$/;

/**
 * Removes what somebody was writing who was killed over it: some of it is a key, and a draft of
 * our own pid would be in our way. All of it is written at one go, so none can be ours yet.
 */
export function sweepDrafts(home: string): void {
  for (const name of readdirSync(home)) {
    const pid = Number(DRAFT.exec(name)?.[1]);
    if (pid > 0 && (pid === process.pid || !isAlive(pid))) rmSync(join(home, name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
