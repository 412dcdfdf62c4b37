import type { Principal, SandboxerError } from "@sandboxer/contract";
import type { Report } from "../report.ts";
import type { Journal } from "./journal.ts";

const GATHER_MS = 1_000;
const LONGEST_TARGET = 63;

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
  const counted = new Map<string, { timer: NodeJS.Timeout; times: number; write: (times: number) => void }>();
  const end = (key: string): void => {
    const kind = counted.get(key);
    counted.delete(key);
    clearTimeout(kind?.timer);
    if (kind && kind.times > 0) kind.write(kind.times);
  };
  return {
    record({ orgId, id: principalId, keyId }, { verb, code, rule, target }) {
      const key = JSON.stringify([orgId, principalId, keyId, verb, code, rule, target]);
      const known = counted.get(key);
      if (known) {
        known.times++;
        return;
      }
      const write = (times: number) => {
        const data = { keyId, verb, code, rule, target: shortened(target), ...(times > 1 && { times }) };
        journal
          .record({ type: "access.denied", orgId, atMs: nowMs(), principalId, data })
          .catch((error) => onError("recording a denial", error));
      };
      counted.set(key, { timer: setTimeout(end, GATHER_MS, key).unref(), times: 0, write });
      write(1);
    },
    close() {
      for (const key of [...counted.keys()]) end(key);
    },
  };
}

function shortened(target: unknown): string | undefined {
  return typeof target === "string" ? target.slice(0, LONGEST_TARGET) : undefined;
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
