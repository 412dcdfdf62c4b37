import {
  type Metrics,
  type NetworkRule,
  type Sandbox,
  SandboxerError,
  type Usage,
} from "@sandboxer/contract";
import type { Clock } from "../clock.ts";
import type { Journal } from "../events/journal.ts";
import type { Registry } from "../registry/registry.ts";
import type { Report } from "../report.ts";

const SAMPLE_EVERY_MS = 1_000;
const PATIENCE_MS = 5_000;
const MOST_PROGRAMS = 100;

/** Watches what audited sandboxes use, from outside, and writes it down when they end. */
export interface Auditor {
  watch(sandbox: Sandbox): void;
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
}

interface Ground {
  readonly registry: Registry;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly report: Report;
  readonly installationId: string;
  /** The rules that would have allowed what it tried; the guard forgets them with the sandbox. */
  proposed(sandboxId: string): NetworkRule[];
}

export function createAuditor(ground: Ground): Auditor {
  const { registry, journal, clock, report, installationId, proposed } = ground;
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
    const data = { usage, proposed: proposed(sandboxId) };
    const event = { type: "sandbox.audited", orgId, atMs: clock.nowMs(), sandboxId, data } as const;
    await journal.record(event).catch((error) => report(`auditing ${sandboxId}`, SandboxerError.from(error)));
  };

  return {
    watch(sandbox) {
      if (!sandbox.spec.audit || watched.has(sandbox.id)) return;
      const timer = setInterval(() => void sample(sandbox), SAMPLE_EVERY_MS).unref();
      watched.set(sandbox.id, { timer, programs: new Map(), usage: { samples: 0 } });
    },
    ran(sandboxId, program) {
      const programs = watched.get(sandboxId)?.programs;
      if (!programs || (programs.size >= MOST_PROGRAMS && !programs.has(program))) return;
      programs.set(program, (programs.get(program) ?? 0) + 1);
    },
    async look(sandbox) {
      await sample(sandbox);
      return usageOf(sandbox);
    },
    async note(sandbox) {
      if (!watched.has(sandbox.id)) return;
      await sample(sandbox);
      const usage = usageOf(sandbox);
      if (usage) await write(sandbox, usage);
    },
    async end(sandbox) {
      const { id: sandboxId } = sandbox;
      if (!watched.has(sandboxId)) return;
      await sample(sandbox);
      const usage = usageOf(sandbox);
      clearInterval(watched.get(sandboxId)?.timer);
      watched.delete(sandboxId);
      if (usage) await write(sandbox, usage);
    },
    close() {
      for (const { timer } of watched.values()) clearInterval(timer);
      watched.clear();
    },
  };
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
