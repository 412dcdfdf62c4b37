import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { GuestSuite } from "./suites.ts";

const BOXD = fileURLToPath(new URL("../../packages/boxd", import.meta.url));

/** Of boxd's own tests, the files whose promises the kernel keeps; each becomes a program. */
export const BOXD_TESTS = ["lifecycle", "limits", "posture", "waiting"] as const;

export interface BoxdTests {
  /** For `inGuest`. */
  readonly files: Readonly<Record<string, string>>;
  /** Root's shell runs it first: the programs look for boxd where cargo has put it on this machine. */
  readonly prepare: string;
  readonly suites: readonly GuestSuite[];
}

interface Artifact {
  readonly target?: { readonly name: string; readonly kind: readonly string[] };
  readonly profile?: { readonly test: boolean };
  readonly executable?: string;
}

/** Compiles boxd's tests; they are static, and so run on any kernel without anything beside them. */
export async function compileBoxdTests(cargo: { cargo: string; env: NodeJS.ProcessEnv }): Promise<BoxdTests> {
  const argv = ["test", "--no-run", "--profile", "checked", "--locked", "--message-format", "json"];
  const { stdout } = await promisify(execFile)(cargo.cargo, argv, {
    cwd: BOXD,
    env: cargo.env,
    maxBuffer: 64 << 20,
  });
  const made = stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Artifact);
  const program = (kind: string, name: string, test: boolean): string => {
    const found = made.find(
      ({ target, profile, executable }) =>
        executable && target?.name === name && target.kind.includes(kind) && profile?.test === test,
    );
    if (!found?.executable) throw new Error(`cargo made no ${kind} ${name}`);
    return found.executable;
  };
  const boxd = program("bin", "boxd", false);
  return {
    files: {
      boxd,
      ...Object.fromEntries(BOXD_TESTS.map((name) => [`boxd-tests/${name}`, program("test", name, true)])),
    },
    prepare: `mkdir -p '${boxd}' && rmdir '${boxd}' && ln -s /given/boxd '${boxd}'`,
    suites: BOXD_TESTS.map((name) => ({ name, command: `boxd-tests/${name}` })),
  };
}
