import type { Principal, SandboxerError } from "@sandboxer/contract";
import type { Report } from "../report.ts";
import type { Journal } from "./journal.ts";

const GATHER_MS = 1_000;
const LONGEST_TARGET = 63;
const MOST_TARGETS = 10;

export interface Denial {
  readonly verb: string;
  readonly code: string;
  readonly rule?: unknown;
  /** What it was asked of, where that is a sandbox or a row. */
  readonly target?: unknown;
}

export interface Denials {
  record(
    who: { readonly orgId: string; readonly id?: string; readonly keyId?: string },
    denial: Denial,
  ): void;
  /** Writes what has been counted since. */
  close(): void;
}

/**
 * Every denial is in the log: the first of its kind at once, those that follow within a second as
 * one entry with their number. So a caller in a loop cannot fill the disk with its refusals.
 */
export function createDenials(journal: Journal, nowMs: () => number, onError: Report): Denials {
  const counted = new Map<string, Counted>();
  const end = (key: string): void => {
    const kind = counted.get(key);
    counted.delete(key);
    clearTimeout(kind?.timer);
    if (kind && kind.times > 0) kind.write(kind.times, kind.targets);
  };
  return {
    record({ orgId, id: principalId, keyId }, { verb, code, rule, target }) {
      // Not the target, which is the caller's to choose: each of many would be the first of its kind.
      const key = JSON.stringify([orgId, principalId, keyId, verb, code, rule]);
      const known = counted.get(key);
      if (known) {
        known.times++;
        addTo(known.targets, target);
        return;
      }
      const write: Counted["write"] = (times, targets) => {
        const [first, ...more] = targets;
        const of = more.length > 0 ? { targets: [first, ...more] } : { target: first };
        const data = { keyId, verb, code, rule, ...of, ...(times > 1 && { times }) };
        journal
          .record({ type: "access.denied", orgId, atMs: nowMs(), principalId, data })
          .catch((error) => onError("recording a denial", error));
      };
      const timer = setTimeout(end, GATHER_MS, key).unref();
      counted.set(key, { timer, times: 0, targets: new Set(), write });
      write(1, addTo(new Set(), target));
    },
    close() {
      for (const key of [...counted.keys()]) end(key);
    },
  };
}

interface Counted {
  readonly timer: NodeJS.Timeout;
  times: number;
  readonly targets: Set<string>;
  write(times: number, targets: ReadonlySet<string>): void;
}

/** The first few, each of a bounded length. */
function addTo(targets: Set<string>, target: unknown): Set<string> {
  if (typeof target === "string" && targets.size < MOST_TARGETS) targets.add(target.slice(0, LONGEST_TARGET));
  return targets;
}

/** What a rule or a budget refused; a mistake in a request is none. */
const REFUSALS: readonly string[] = ["policy_denied", "budget_exceeded"];

/** Tells of an error that is one. */
export function recordIfDenied(
  denials: Denials,
  verb: string,
  [principal, target]: readonly unknown[],
  { code, details }: SandboxerError,
): void {
  if (!REFUSALS.includes(code) || !isPrincipal(principal)) return;
  denials.record(principal, { verb, code, rule: details.rule, target });
}

function isPrincipal(value: unknown): value is Principal {
  return typeof value === "object" && value !== null && "orgId" in value && "chain" in value;
}
