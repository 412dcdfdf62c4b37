import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

/** As people start it: a shell knows of a closed descriptor what Node, started by it, no longer does. */
const PROGRAM = fileURLToPath(new URL("../../apps/cli/bin/sandboxer", import.meta.url));

let home: string;
let cli: ReturnType<typeof cliOf>;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "sandboxer-output-"));
  cli = cliOf(home);
});
afterAll(async () => {
  await cli.run(["rm", "--all"]);
  await removeEngine(join(home, "engine"), home);
}, 300_000);

async function shell(words: string) {
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  const child = spawn("/bin/sh", ["-c", `"$PROGRAM" ${words}`], {
    env: { ...cli.environment, PATH, PROGRAM },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
  const [code] = await once(child, "close");
  return { code, stdout: await stdout, stderr: await stderr };
}

describe("standard output that takes nothing", () => {
  it.each([
    ["ls >&-", "it is closed"],
    ["--version >&-", "it is closed"],
    ["ls --help >&-", "it is closed"],
    ["run -- echo hi >&-", "it is closed"],
    ["run -- sh -c 'echo hi; exit 3' >&-", "it is closed"],
    ["ls >/dev/full", "no space left"],
    ["run -- echo hi >/dev/full", "no space left"],
  ])("%s ends 74 and says what is lost", async (words, why) => {
    const { code, stderr } = await shell(words);
    expect(stderr).toContain("error: standard output takes nothing");
    expect(stderr).toContain(why);
    expect(code).toBe(74);
  });

  it("is told as JSON where that is asked", async () => {
    const { code, stderr } = await shell("ls --json >&-");
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "storage_full" } });
    expect(code).toBe(74);
  });

  it("is no fault of a command that has nothing to say", async () => {
    expect(await shell("run -- true >&-")).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(await shell("run -- echo hi >/dev/null")).toEqual({ code: 0, stdout: "", stderr: "" });
  });
});

describe("standard error that takes nothing", () => {
  it("loses nothing of the rest", async () => {
    const both = "run -- sh -c 'echo a; echo b >&2; echo c; exit 3'";
    expect(await shell(`${both} 2>&-`)).toMatchObject({ code: 3, stdout: "a\nc\n" });
    expect(await shell(`${both} 2>/dev/full`)).toMatchObject({ code: 3, stdout: "a\nc\n" });
    expect(await shell("exec nobody -- ls 2>&-")).toMatchObject({ code: 66 });
  });

  it.each(["2>/dev/full", "2>&-", ">&- 2>&-"])(
    "%s is no success where it was to say something",
    async (to) => {
      expect((await shell(`run -- sh -c 'echo b >&2' ${to}`)).code).toBe(74);
      expect(await shell(`run -- true ${to}`), "nothing is lost").toEqual({
        code: 0,
        stdout: "",
        stderr: "",
      });
    },
  );
});
