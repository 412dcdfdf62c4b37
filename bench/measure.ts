import { setTimeout as sleep } from "node:timers/promises";
import { type Statistics, statistics } from "./statistics.ts";
import type { Opened, Place, Subject } from "./subject.ts";

export interface Result {
  readonly name: string;
  readonly version?: string;
  /** Why there are no numbers. A subject is never left out silently. */
  readonly missing?: string;
  /** `cycle`, `exec`, and the stages of a cycle where the subject tells them. */
  readonly measures: Readonly<Record<string, Statistics>>;
}

interface Runner {
  readonly subject: Subject;
  readonly version?: string;
  readonly samples: Map<string, number[]>;
  opened?: Opened;
  missing?: string;
}

export interface Measuring {
  readonly rounds: number;
  readonly warmUps: number;
  /** Ends the run after the turn under way, so that nothing starts while things are being closed. */
  readonly signal: AbortSignal;
  placeOf(subject: Subject): Place;
  /** Each thing that was opened is handed over at once, to be closed whatever comes. */
  onOpen(opened: Opened): void;
  onRound(done: number): void;
}

/** Everybody takes a turn in every round, each time starting with another, so that noise falls on all alike. */
export async function measure(subjects: readonly Subject[], how: Measuring): Promise<Result[]> {
  const runners: Runner[] = [];
  for (const subject of subjects) runners.push(await prepare(subject, how));
  for (let round = -how.warmUps; round < how.rounds; round += 1) {
    const first = Math.abs(round) % runners.length;
    for (const runner of [...runners.slice(first), ...runners.slice(0, first)]) {
      how.signal.throwIfAborted();
      if (runner.opened) await turn(runner, runner.opened, round >= 0);
    }
    how.onRound(Math.max(0, round + 1));
  }
  return runners.map(({ subject, version, missing, samples }) => ({
    name: subject.name,
    ...(version !== undefined && { version }),
    ...(missing !== undefined && { missing }),
    measures: Object.fromEntries([...samples].map(([name, durationsMs]) => [name, statistics(durationsMs)])),
  }));
}

async function prepare(subject: Subject, how: Measuring): Promise<Runner> {
  how.signal.throwIfAborted();
  const samples = new Map<string, number[]>();
  let version: string | undefined;
  try {
    version = await subject.version();
    const opened = await subject.open(how.placeOf(subject));
    how.onOpen(opened);
    return { subject, version, samples, opened };
  } catch (error) {
    return { subject, ...(version !== undefined && { version }), samples, missing: reasonOf(error) };
  }
}

/** One cycle and one exec. Whoever fails is out, with the reason, and without half a set of numbers. */
async function turn(runner: Runner, opened: Opened, counts: boolean): Promise<void> {
  const note = (name: string, durationMs: number): void => {
    if (counts) runner.samples.set(name, [...(runner.samples.get(name) ?? []), durationMs]);
  };
  try {
    const begun = performance.now();
    const stages = await opened.cycle();
    note("cycle", performance.now() - begun);
    for (const [name, durationMs] of Object.entries(stages ?? {})) note(name, durationMs);
    if (runner.subject.settleMs) await sleep(runner.subject.settleMs);
    if (!opened.exec) return;
    const asked = performance.now();
    await opened.exec();
    note("exec", performance.now() - asked);
    if (runner.subject.settleMs) await sleep(runner.subject.settleMs);
  } catch (error) {
    runner.missing = reasonOf(error);
    runner.samples.clear();
    delete runner.opened;
  }
}

function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ").slice(0, 200);
}
