import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { command } from "../command.ts";
import { type Engine, openEngine } from "../ours/engine.ts";
import { bubblewrap } from "../peers/bubblewrap.ts";
import type { Question } from "../question.ts";
import type { Session } from "../session.ts";
import { type Statistics, statistics } from "../statistics.ts";

const WARM_UPS = 10;
const BALLAST_BYTES = 1 << 30;
/** As many processes wait in hold at most. */
const MADE_AHEAD = 2;
/** By then hold and the pool have made others. */
const REFILLED_AFTER_MS = 120;

type Steps = Readonly<Record<string, () => Promise<number>>>;

/** How soon a sandbox is ready and a command done, beside bwrap and Node's own spawn; with a large heap too. */
export const question: Question = {
  size: 200,
  async ask(session, rounds) {
    const engine = session.keep(await openEngine(session.placeOf("engine")));
    await bubblewrap.version();
    const bwrap = session.keep(await bubblewrap.open(session.placeOf("bwrap")));
    const live = await engine.create();
    const pooled = session.keep(await openEngine(session.placeOf("pool"), 1));
    await pooled.destroy(await pooled.create());
    const timed = async (work: () => Promise<unknown>): Promise<number> => {
      const begun = performance.now();
      await work();
      return performance.now() - begun;
    };
    const createBy = async (which: Engine): Promise<number> => {
      const begun = performance.now();
      const box = await which.create();
      const took = performance.now() - begun;
      await which.destroy(box);
      return took;
    };
    const createBehind = async (which: Engine): Promise<number> => {
      const first = [];
      for (let count = 0; count < MADE_AHEAD; count += 1) first.push(await which.create());
      const took = await createBy(which);
      for (const box of first) await which.destroy(box);
      return took;
    };
    const steps: Steps = {
      create: async () => {
        await sleep(REFILLED_AFTER_MS);
        return createBy(engine);
      },
      "create when none waits": () => createBehind(engine),
      "create from a pool": async () => {
        await sleep(REFILLED_AFTER_MS);
        return createBy(pooled);
      },
      exec: () => timed(() => engine.runTrue(live)),
      bwrap: () => timed(() => bwrap.cycle()),
      spawn: () => timed(() => command("/bin/true", [])),
    };
    const plain = await take(session, steps, rounds);
    // Spawning takes long with a large heap, and whatever this process does next as well: its pages
    // are copied then. The engine never forks this process, so it is measured by itself.
    const { create, exec, spawn } = steps as Required<Steps>;
    const fewer = Math.ceil(rounds / 4);
    const ours = { create, exec } as Steps;
    const small = { ...(await take(session, ours, fewer)), spawn: plain.spawn };
    const ballast = fillHeap();
    const large = {
      ...(await take(session, ours, fewer)),
      ...(await take(session, { spawn } as Steps, fewer)),
    };
    const heapMiB = Math.round(process.memoryUsage().heapUsed / 2 ** 20);
    if (ballast.length === 0) throw new Error("the ballast is gone");
    return {
      data: { plain, small, large, heapMiB },
      lines: [
        "median / p95 in ms",
        ...Object.entries(plain).map(([name, one]) => `${name}: ${show(one)}`),
        `create ÷ bwrap ${ratio(plain.create, plain.bwrap)}, when none waits ${ratio(plain["create when none waits"], plain.bwrap)} (goal ≤ 0.6); exec ÷ spawn ${ratio(plain.exec, plain.spawn)} (goal ≤ 0.7); from a pool ≤ 1 ms`,
        `with a heap of ${heapMiB} MiB:`,
        ...Object.entries(large).map(
          ([name, one]) =>
            `${name}: ${show(one)}, ${ratio(one, small[name as keyof typeof small])} × as long`,
        ),
      ],
    };
  },
};

async function take(session: Session, steps: Steps, rounds: number): Promise<Record<string, Statistics>> {
  const samples: Record<string, number[]> = {};
  for (let round = -WARM_UPS; round < rounds; round += 1) {
    for (const [name, step] of Object.entries(steps)) {
      session.signal.throwIfAborted();
      const durationMs = await step();
      samples[name] ??= [];
      if (round >= 0) samples[name].push(durationMs);
    }
    session.show(`round ${Math.max(0, round + 1)} of ${rounds}`);
  }
  return Object.fromEntries(Object.entries(samples).map(([name, each]) => [name, statistics(each)]));
}

/** Objects, not one buffer: what a gateway's heap is made of. */
function fillHeap(): object[] {
  const ballast: object[] = [];
  while (process.memoryUsage().heapUsed < BALLAST_BYTES) {
    for (let index = 0; index < 100_000; index += 1) ballast.push({ index, text: `ballast ${index}` });
  }
  // What the filling itself left is not to fall on those who are measured.
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return ballast;
}

const show = ({ medianMs, p95Ms }: Statistics): string => `${medianMs.toFixed(2)} / ${p95Ms.toFixed(2)}`;
const ratio = (one?: Statistics, other?: Statistics): string =>
  one && other ? (one.medianMs / other.medianMs).toFixed(2) : "–";
