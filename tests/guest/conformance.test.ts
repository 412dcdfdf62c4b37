import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CASES } from "@sandboxer/contract/conformance/cases";
import { beforeAll, expect, it, describe as vitestDescribe } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { bundleFor, inOneFile } from "./bundle.ts";
import { inGuest } from "./in-guest.ts";
import { AS, type Posture, readSuites, type SuiteReport, suitesScript } from "./suites.ts";

/** Emulated, and on a busy machine, it takes minutes. */
const ENDS_WITHIN_MS = 600_000;

/** A line of the program: the outcome of a case, or in the end what is not in force. */
interface Said {
  readonly name?: string;
  readonly failure?: string;
  readonly code?: string;
  readonly bestEffort?: readonly string[];
  readonly refusal?: { readonly code?: string; readonly message?: string };
}

/** What is not in force where there is version 2 of control groups alone, by who asks. */
const NOT_IN_FORCE: Readonly<Record<Posture, readonly string[]>> = {
  root: [],
  user: ["cpus", "disk", "memory", "pids", "users"],
  delegated: ["disk", "users"],
};
const POSTURES = Object.keys(NOT_IN_FORCE) as Posture[];

/** A control group of one's own changes nothing about the rest. */
const GROUPS: Readonly<Record<Posture, readonly string[]>> = {
  root: Object.keys(CASES),
  user: Object.keys(CASES),
  delegated: ["lifecycle", "pause", "metrics"],
};

const { describe, given } = await requires("qemu", "boxd");

describe("conformance: local, on a Debian kernel with cgroup v2", () => {
  let reports: ReadonlyMap<string, SuiteReport> = new Map();
  let screen = "";

  beforeAll(async () => {
    const suites = POSTURES.map((name) => ({
      name,
      command: AS[name](`${inOneFile("conformance.mjs")} ${GROUPS[name].join(" ")}`),
    }));
    await using folder = await mkdtempDisposable(join(tmpdir(), "sandboxer-bundle-"));
    const program = await bundleFor(
      new URL("../conformance/as-ordinary-user.ts", import.meta.url),
      folder.path,
    );
    const result = await inGuest(given.qemu, {
      files: { boxd: given.boxd.path, "conformance.mjs": program },
      script: suitesScript(suites),
      memoryMiB: 768,
      endsWithinMs: ENDS_WITHIN_MS,
    });
    reports = readSuites(result.report);
    screen = result.console;
  }, ENDS_WITHIN_MS + 60_000);

  vitestDescribe.for(POSTURES)("as %s", (posture) => {
    const said = (): Said[] => {
      const lines = reports.get(posture)?.lines ?? [];
      return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
    };
    const cannotPause = NOT_IN_FORCE[posture].includes("memory");
    const pauses = new Set(CASES.pause?.map(({ name }) => name));

    for (const { name } of GROUPS[posture].flatMap((group) => CASES[group] ?? [])) {
      const refused = cannotPause && pauses.has(name);
      it(refused ? `refuses: ${name}` : name, () => {
        const outcome = said().find((one) => one.name === name);
        expect(outcome, `it did not run; the console says:\n${screen}`).toBeDefined();
        if (refused) expect(outcome?.code).toBe("extension_unavailable");
        else expect(outcome?.failure).toBeUndefined();
      });
    }

    it("says what is not in force, exactly, and refuses where all of it is required", () => {
      const { bestEffort = [], refusal } = said().find((one) => one.bestEffort) ?? {};
      expect(bestEffort.map((sentence) => sentence.split(":")[0]).sort()).toEqual(NOT_IN_FORCE[posture]);
      if (bestEffort.length === 0) expect(refusal).toBeUndefined();
      else expect(refusal?.message).toContain(`${NOT_IN_FORCE[posture][0]} cannot be limited`);
    });

    it("ends in order", () => {
      const { status, lines } = reports.get(posture) ?? { lines: [] };
      expect(status, `${lines.filter((line) => !line.startsWith("{")).join("\n")}\n${screen}`).toBe(0);
    });
  });
});
