/** One test, as the report sees it. */
export interface Counted {
  readonly state: "passed" | "failed" | "skipped";
  readonly requires: readonly string[];
  readonly missing: Readonly<Record<string, string>>;
  /** Its name and what it first failed with, where it passed only when it was tried again. */
  readonly secondTry?: string;
}

export interface CapabilityCount {
  readonly ran: number;
  readonly skipped: number;
  /** Why this machine lacks it, where it does. */
  readonly why?: string;
}

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly secondTries: readonly string[];
  readonly capabilities: Readonly<Record<string, CapabilityCount>>;
}

/** So many may pass at their second try in one run. More is not chance but a fault. */
const SECOND_TRIES_AT_MOST = 4;

export function tally(tests: readonly Counted[]): Tally {
  const total = { passed: 0, failed: 0, skipped: 0 };
  const capabilities: Record<string, CapabilityCount> = {};
  for (const { state, requires, missing } of tests) {
    total[state] += 1;
    for (const name of requires) {
      const { ran, skipped, why } = capabilities[name] ?? { ran: 0, skipped: 0 };
      capabilities[name] = {
        ran: ran + (state === "skipped" ? 0 : 1),
        skipped: skipped + (state === "skipped" ? 1 : 0),
        why: why ?? missing[name],
      };
    }
  }
  const secondTries = tests.flatMap(({ secondTry }) => (secondTry === undefined ? [] : [secondTry]));
  return { ...total, secondTries, capabilities };
}

/** A run in which too many tests needed a second try has failed, whatever they did then. */
export function unsteadiness({ secondTries }: Tally): string[] {
  const { length } = secondTries;
  if (length <= SECOND_TRIES_AT_MOST) return [];
  return [`${length} tests passed only at their second try, and ${SECOND_TRIES_AT_MOST} may`];
}

/** Capabilities of which fewer tests ran than the committed number: a machine that quietly lost one. */
export function shortfalls(counts: Tally, expected: Readonly<Record<string, number>>): string[] {
  return Object.entries(expected).flatMap(([name, least]) => {
    const ran = counts.capabilities[name]?.ran ?? 0;
    return ran < least ? [`${name}: ${ran} tests ran, and expected.json promises ${least}`] : [];
  });
}

/** The lines that close a run, the last of them the one that CI reads. */
export function summary(counts: Tally): string[] {
  const names = Object.keys(counts.capabilities).sort();
  const width = Math.max(0, ...names.map((name) => name.length));
  const lines = names.map((name) => {
    const { ran, skipped, why } = counts.capabilities[name] as CapabilityCount;
    return `  ${name.padEnd(width)}  ${ran} ran, ${skipped} skipped${why ? `: ${why}` : ""}`;
  });
  return [
    ...counts.secondTries.map((line) => `passed only at the second try: ${line}`),
    ...(lines.length > 0 ? ["Tests by what they need of the machine", ...lines, ""] : []),
    `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`,
  ];
}
