import { type SuiteFactory, type TestFunction, describe as vitestDescribe, it as vitestIt } from "vitest";
import { CAPABILITIES, type Capability, type Given } from "./capabilities.ts";

declare module "vitest" {
  interface TaskMeta {
    requires?: readonly string[];
    /** Why each capability that this machine lacks is missing. */
    missing?: Readonly<Record<string, string>>;
  }
}

export interface Required<Names extends Capability> {
  /** Vitest's `describe` where everything is there; else all tests in it are skipped and counted. */
  readonly describe: (title: string, tests: SuiteFactory, timeoutMs?: number) => void;
  /** The same for a single test. */
  readonly it: (title: string, test: TestFunction, timeoutMs?: number) => void;
  /** What the machine gives, for use inside tests and hooks: where tests are skipped it is empty. */
  readonly given: { readonly [Name in Names]: Given<Name> };
}

/**
 * For tests that need what a machine may lack:
 *
 *     const { describe, given } = await requires("linux-userns", "boxd");
 *     describe("the local engine", () => { it("…", () => start(given.boxd.path)); });
 */
export async function requires<Names extends Capability>(...names: Names[]): Promise<Required<Names>> {
  const given: Record<string, unknown> = {};
  const missing: Record<string, string> = {};
  for (const name of names) {
    try {
      given[name] = await CAPABILITIES[name]();
    } catch (error) {
      missing[name] = error instanceof Error ? error.message : String(error);
    }
  }
  const skip = Object.keys(missing).length > 0;
  const options = (timeout?: number) => ({
    skip,
    meta: { requires: names, missing },
    ...(timeout !== undefined && { timeout }),
  });
  return {
    describe: (title, tests, timeoutMs) => vitestDescribe(title, options(timeoutMs), tests),
    it: (title, test, timeoutMs) => vitestIt(title, options(timeoutMs), test),
    given: given as Required<Names>["given"],
  };
}
