import { beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { BOXD_TESTS, compileBoxdTests } from "./boxd-tests.ts";
import { inGuest } from "./in-guest.ts";
import { readSuites, type SuiteReport, suitesScript } from "./suites.ts";

/** Emulated, and with limits on processor time of their own, they take minutes on a busy machine. */
const ENDS_WITHIN_MS = 600_000;
const COMPILES_WITHIN_MS = 600_000;

const { describe, given } = await requires("qemu", "cargo");

describe("boxd's own tests, on a Debian kernel with cgroup v2", () => {
  let reports: ReadonlyMap<string, SuiteReport> = new Map();
  let screen = "";

  beforeAll(async () => {
    const { files, prepare, suites } = await compileBoxdTests(given.cargo);
    const result = await inGuest(given.qemu, {
      files,
      script: `${prepare}\n${suitesScript(suites)}`,
      memoryMiB: 768,
      endsWithinMs: ENDS_WITHIN_MS,
    });
    reports = readSuites(result.report);
    screen = result.console;
  }, COMPILES_WITHIN_MS + ENDS_WITHIN_MS);

  it.for(BOXD_TESTS)("%s", (name) => {
    const { status, lines = [] } = reports.get(name) ?? {};
    expect(status, [...lines, screen].join("\n")).toBe(0);
    expect(lines.join("\n"), "control: they ran").toMatch(/test result: ok\. [1-9]\d* passed/);
  });
});
