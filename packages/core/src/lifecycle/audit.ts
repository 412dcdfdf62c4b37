import { type Metrics, type Sandbox, SandboxerError, type Usage } from "@sandboxer/contract";
import type { Clock } from "../clock.ts";
import type { Journal } from "../events/journal.ts";
import type { Registry } from "../registry/registry.ts";
import type { Report } from "../report.ts";

const SAMPLE_EVERY_MS = 1_000;
const PATIENCE_MS = 5_000;
/** What is new is written so often: a gateway that dies forgets no more than that. */
const WRITE_EVERY_MS = 5_000;
const MOST_PROGRAMS = 100;

/** Watches what audited sandboxes use, from outside, and writes it down now and then and when they end. */
export interface Auditor {
  /** `earlier`: what a gateway before this one wrote down. */
  watch(sandbox: Sandbox, earlier?: Usage): void;
  watches(sandboxId: string): boolean;
  ran(sandboxId: string, program: string): void;
  /** What was seen so far, with one more look. */
  look(sandbox: Sandbox): Promise<Usage | undefined>;
  /** Writes down what was seen so far, while it still can be looked at: it is going to be stopped. */
  note(sandbox: Sandbox): Promise<void>;
  /** The last look, while it still can be looked at. Never keeps a sandbox from its end. */
  end(sandbox: Sandbox): Promise<void>;
  close(): void;
}

interface Seen {
  readonly timer: NodeJS.Timeout;
  readonly programs: Map<string, number>;
  last?: Metrics;
  usage: Omit<Usage, "ranMs" | "programs">;
  /** As it was last written, and when. */
  written: string;
  writtenAtMs: number;
}

interface Ground {
  readonly registry: Registry;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly report: Report;
  readonly installationId: string;
}

export function createAuditor(ground: Ground): Auditor {
  const { registry, journal, clock, report, installationId } = ground;
  const watched = new Map<string, Seen>();

  const sample = async ({ id, location }: Sandbox): Promise<void> => {
    const seen = watched.get(id);
    if (!seen || !location) return;
    const context = { installationId, signal: AbortSignal.timeout(PATIENCE_MS) };
    const { metrics } = registry.get(location.extensionId);
    const now = await metrics?.read(location.ref, context).catch(() => undefined);
    if (!now) return;
    seen.usage = raised(seen.usage, now, seen.last);
    seen.last = now;
  };
  const usageOf = ({ id, startedAtMs }: Sandbox): Usage | undefined => {
    const seen = watched.get(id);
    if (!seen) return undefined;
    const nowMs = clock.nowMs();
    const ranMs = Math.max(0, nowMs - (startedAtMs ?? nowMs));
    return { ranMs, programs: Object.fromEntries(seen.programs), ...seen.usage };
  };

  const write = async ({ id: sandboxId, orgId }: Sandbox, usage: Usage): Promise<void> => {
    const event = {
      type: "sandbox.audited",
      orgId,
      atMs: clock.nowMs(),
      sandboxId,
      data: { usage },
    } as const;
    await journal.record(event).catch((error) => report(`auditing ${sandboxId}`, SandboxerError.from(error)));
  };
  const lookAndWrite = async (sandbox: Sandbox): Promise<void> => {
    await sample(sandbox);
    const seen = watched.get(sandbox.id);
    const usage = usageOf(sandbox);
    if (!seen || !usage || clock.monotonicMs() - seen.writtenAtMs < WRITE_EVERY_MS) return;
    const told = factsOf(usage);
    if (told === seen.written) return;
    seen.written = told;
    seen.writtenAtMs = clock.monotonicMs();
    await write(sandbox, usage);
  };
  const note = async (sandbox: Sandbox): Promise<void> => {
    await sample(sandbox);
    const usage = usageOf(sandbox);
    if (usage) await write(sandbox, usage);
  };

  return {
    watch(sandbox, earlier) {
      if (!sandbox.spec.audit || watched.has(sandbox.id)) return;
      const timer = setInterval(() => void lookAndWrite(sandbox), SAMPLE_EVERY_MS).unref();
      watched.set(sandbox.id, { ...seenBefore(earlier), timer, writtenAtMs: clock.monotonicMs() });
    },
    watches: (sandboxId) => watched.has(sandboxId),
    ran(sandboxId, program) {
      const programs = watched.get(sandboxId)?.programs;
      if (!programs || (programs.size >= MOST_PROGRAMS && !programs.has(program))) return;
      programs.set(program, (programs.get(program) ?? 0) + 1);
    },
    async look(sandbox) {
      await sample(sandbox);
      return usageOf(sandbox);
    },
    note,
    async end(sandbox) {
      clearInterval(watched.get(sandbox.id)?.timer);
      await note(sandbox);
      watched.delete(sandbox.id);
    },
    close() {
      for (const { timer } of watched.values()) clearInterval(timer);
      watched.clear();
    },
  };
}

function seenBefore(earlier?: Usage): Pick<Seen, "programs" | "usage" | "written"> {
  const { ranMs: _, programs = {}, ...usage } = earlier ?? { samples: 0 };
  return { programs: new Map(Object.entries(programs)), usage, written: earlier ? factsOf(earlier) : "" };
}

/** Time passes and looks are taken whether or not anything is new. */
function factsOf({ ranMs: _, samples: __, ...facts }: Usage): string {
  return JSON.stringify(facts);
}

function raised(before: Seen["usage"], now: Metrics, last: Metrics | undefined): Seen["usage"] {
  const memory = Math.max(before.memoryBytes ?? 0, now.memoryPeakBytes ?? 0, now.memoryBytes);
  const disk =
    now.diskBytes === undefined ? before.diskBytes : Math.max(before.diskBytes ?? 0, now.diskBytes);
  const spanMs = last ? now.atMs - last.atMs : 0;
  const cpus = last && spanMs > 0 ? (now.cpuTimeMs - last.cpuTimeMs) / spanMs : 0;
  return {
    samples: before.samples + 1,
    memoryBytes: memory,
    pids: Math.max(before.pids ?? 0, now.pids),
    ...(disk !== undefined && { diskBytes: disk }),
    cpus: Math.max(before.cpus ?? 0, cpus),
  };
}
