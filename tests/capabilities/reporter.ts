import { readFileSync } from "node:fs";
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite } from "vitest/node";
import { type Counted, shortfalls, summary, tally, unsteadiness } from "./tally.ts";

/** Closes a run: tests per capability, then the line that CI reads. In CI, fewer than promised is a failure. */
export class CapabilityReporter implements Reporter {
  readonly #expected: URL;

  constructor(expected = new URL("expected.json", import.meta.url)) {
    this.#expected = expected;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()].map(counted));
    // A file that cannot be loaded or a hook that fails has no test to be counted as.
    const suites = modules.flatMap((module) => [module, ...module.children.allSuites()]);
    const loose = suites.reduce((sum, suite) => sum + suite.errors().length, unhandled.length);
    const counts = tally([...tests, ...Array.from({ length: loose }, () => LOOSE_ERROR)]);
    const short = process.env.CI ? shortfalls(counts, JSON.parse(readFileSync(this.#expected, "utf8"))) : [];
    const wrong = [...short, ...unsteadiness(counts)];
    if (wrong.length > 0) process.exitCode = 1;
    process.stdout.write(`${[...wrong.map((line) => `FAILED ${line}`), ...summary(counts)].join("\n")}\n`);
  }
}

const LOOSE_ERROR: Counted = { state: "failed", requires: [], missing: {} };

function counted(test: TestCase): Counted {
  const { state } = test.result();
  const requires = new Set<string>();
  const missing: Record<string, string> = {};
  for (let at: TestCase | TestSuite | TestModule = test; at.type !== "module"; at = at.parent) {
    const meta = at.meta();
    for (const name of meta.requires ?? []) requires.add(name);
    Object.assign(missing, meta.missing);
  }
  // A test that never got to run, as after Ctrl-C, has not passed.
  const known = {
    state: state === "pending" ? ("skipped" as const) : state,
    requires: [...requires],
    missing,
  };
  if (test.diagnostic()?.flaky !== true) return known;
  const first = test.result().errors?.[0]?.message.split("\n", 1)[0];
  return { ...known, secondTry: `${test.module.relativeModuleId} > ${test.fullName}: ${first}` };
}
