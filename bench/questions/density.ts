import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Box } from "@sandboxer/contract";
import { processesOf, readOrNothing } from "../../tests/capabilities/processes.ts";
import { openEngine } from "../ours/engine.ts";
import type { Question } from "../question.ts";

const SETTLE_MS = 1_000;

/** What an idle sandbox costs: of our own memory, and of everything, the kernel's share included. */
export const question: Question = {
  size: 1_000,
  async ask(session, count) {
    const engine = session.keep(await openEngine(session.placeOf("engine")));
    const boxes: Box[] = [await engine.create()];
    await settle();
    const before = availableKiB();
    const begun = performance.now();
    while (boxes.length <= count) {
      session.signal.throwIfAborted();
      boxes.push(await engine.create());
      session.show(`${boxes.length - 1} of ${count} live`);
    }
    const tookMs = performance.now() - begun;
    await settle();
    const allInKiB = (before - availableKiB()) / count;
    // A first process no longer names the engine's folder; its record does.
    const processes = [...processesOf(engine.directory), ...firstProcessesOf(engine.directory)];
    const pssKiB = processes.reduce((sum, pid) => sum + pssOf(pid), 0) / count;
    const asked = performance.now();
    for (const box of [boxes[1], boxes[count]]) if (box) await engine.runTrue(box);
    const execMs = (performance.now() - asked) / 2;
    const ended = performance.now();
    for (const box of boxes) await engine.destroy(box);
    const destroyMs = (performance.now() - ended) / boxes.length;
    return {
      data: { count, pssKiB, allInKiB, createMs: tookMs / count, execMs, destroyMs },
      lines: [
        `${count} live at once, one create after the other: ${(tookMs / count).toFixed(2)} ms each`,
        `PSS of hold and every first process: ${(pssKiB / 1024).toFixed(3)} MiB a sandbox (goal ≤ 0.3)`,
        `all in, by what the machine has left: ${(allInKiB / 1024).toFixed(2)} MiB a sandbox (goal ≤ 1)`,
        `exec among them ${execMs.toFixed(2)} ms, destroy ${destroyMs.toFixed(2)} ms each`,
      ],
    };
  },
};

const settle = () => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));

function availableKiB(): number {
  return Number(/MemAvailable:\s+(\d+)/.exec(readFileSync("/proc/meminfo", "utf8"))?.[1]);
}

function firstProcessesOf(directory: string): number[] {
  const boxes = join(directory, "boxes");
  return readdirSync(boxes).map((box) => JSON.parse(readFileSync(join(boxes, box, "box.json"), "utf8")).pid);
}

function pssOf(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readOrNothing(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);
}
