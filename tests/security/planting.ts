import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Box } from "@sandboxer/contract";
import type { Engine } from "./engine.ts";
import { idMapOf, initPidOf, isAsleep } from "./host-view.ts";
import { type Finding, findings } from "./posture/check.ts";
import { expectation, type Role } from "./posture/expected.ts";
import { factsOf } from "./posture/facts.ts";

/**
 * Starts a `sleep` in a sandbox that is like a program in every way but one, and says what the
 * posture checks find about it.
 */
export async function plant(
  { engine, probePath }: { engine: Engine; probePath: string },
  { fault, box, role = "user" }: { fault: string; box: Box; role?: Role },
): Promise<Finding[]> {
  const first = initPidOf(engine.dir, box.ref);
  const ids = { base: idMapOf(first)[0]?.[1] ?? 0 };
  const argv = ["plant", String(first), fault, "--", "/usr/bin/sleep", "600"];
  const probe = spawn(probePath, argv, { stdio: ["ignore", "pipe", "pipe"] });
  const over = once(probe, "close");
  try {
    const pid = await plantedPid(probe);
    const found = findings(factsOf(pid), expectation(role, ids, factsOf(first)));
    process.kill(pid, "SIGKILL");
    return found;
  } finally {
    await over;
  }
}

/** The probe says the pid first; until sleep sleeps, it is still becoming what it shall be. */
async function plantedPid(probe: ChildProcess): Promise<number> {
  let [text, complaint] = ["", ""];
  probe.stderr?.on("data", (data) => {
    complaint += data;
  });
  for await (const data of probe.stdout ?? []) {
    text += data;
    if (text.includes("\n")) break;
  }
  const pid = Number(text);
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline && probe.exitCode === null) {
    if (isAsleep(pid, "sleep")) return pid;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`nothing was planted: ${complaint}`);
}
