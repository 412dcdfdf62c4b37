import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf, end, firstLine } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

let home: string;
let cli: ReturnType<typeof cliOf>;
let gateway: ChildProcess;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "sandboxer-lost-"));
  cli = cliOf(home);
});
beforeEach(async () => {
  gateway = cli.start(["up", "--port", "0", "--json"]);
  await firstLine(gateway);
});
afterEach(async () => {
  if (gateway.exitCode === null && gateway.signalCode === null) await end(gateway, "SIGKILL");
  await cli.run(["rm", "--all"]);
});
afterAll(() => removeEngine(join(home, "engine"), home), 300_000);

const PATIENT = { timeout: 60_000 };

describe("a shell whose gateway goes", () => {
  /** In a terminal of its own, whose state is compared with what it was. */
  function shellInTerminal(args: string[]) {
    const shell = cli.commandLine(["shell", ...args]);
    const words = `was=$(stty -g); ${shell}; echo "code=$?"; test "$was" = "$(stty -g)" && echo as-it-was`;
    const child = spawn("script", ["-qefc", words, "/dev/null"], {
      env: { ...cli.environment, TERM: "xterm" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const seen = { text: "" };
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      seen.text += part;
    });
    return { child, seen, closed: once(child, "close", { signal: AbortSignal.timeout(90_000) }) };
  }

  it("says where it goes on, on a line of its own, and gives the terminal back", async () => {
    await cli.run(["create", "--name", "left"]);
    const { child, seen, closed } = shellInTerminal(["left"]);
    await expect.poll(() => seen.text, PATIENT).toContain("left:~$ ");
    child.stdin.write("echo still-here > mark\r");
    await expect.poll(async () => (await cli.run(["exec", "left", "cat", "mark"])).code, PATIENT).toBe(0);
    await end(gateway, "SIGKILL");
    await closed;
    expect(seen.text, "what the shell asked of the terminal is taken back").toContain(
      "\x1b[?2004l\r\nerror: ",
    );
    expect(seen.text).toMatch(/may go on in left\r\nhint: .*`sandboxer rm left`/);
    expect(seen.text).toMatch(/code=69\r\nas-it-was\r\n$/);
    expect((await cli.run(["ps", "left"])).stdout).toContain("running");
  });

  it("names a fresh one, which nobody could find otherwise", async () => {
    const { seen, closed } = shellInTerminal([]);
    await expect.poll(() => seen.text, PATIENT).toContain(":~$ ");
    const id = (await cli.run(["ls", "--quiet"])).stdout.trim();
    await end(gateway, "SIGKILL");
    await closed;
    expect(seen.text).toContain(`may go on in ${id}`);
    expect((await cli.run(["rm", id])).code).toBe(0);
  });
});
