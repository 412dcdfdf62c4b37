import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf, end, firstLine } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

describe("processes, terminals and ports from the command line", () => {
  let home: string;
  let cli: ReturnType<typeof cliOf>;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-cli-"));
    cli = cliOf(home);
    await cli.run(["create", "--name", "box"]);
  }, 300_000);
  afterAll(async () => {
    await cli.run(["rm", "--all"]);
    await removeEngine(join(home, "engine"), home);
  }, 300_000);

  /** The program in a terminal of its own, which `script` makes; what it shows, and its keys. */
  function inTerminal(args: readonly string[]) {
    const command = `stty cols 97 rows 31; exec ${cli.commandLine(args)}; `;
    const child: ChildProcess = spawn("script", ["-qefc", command, "/dev/null"], {
      env: cli.environment,
      stdio: ["pipe", "pipe", "inherit"],
    });
    let shown = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      shown += text;
    });
    const sees = (words: string) => expect.poll(() => shown).toContain(words);
    return { child, sees, type: (keys: string) => child.stdin?.write(keys) };
  }

  it("leaves a process, lists it, prints what it said and follows it", async () => {
    const script = "echo one; read x < fifo; echo $x; exit 3";
    await cli.run(["exec", "box", "--", "mkfifo", "fifo"]);
    const left = await cli.run(["exec", "-d", "box", "--", "sh", "-c", script]);
    const id = left.stdout.trim();
    expect(left).toEqual({ code: 0, stdout: `${id}\n`, stderr: "" });
    expect((await cli.run(["ps", "box"])).stdout).toMatch(new RegExp(`^${id} .*running.*sh -c`, "m"));
    await expect.poll(() => cli.run(["logs", "box", id])).toEqual({ code: 0, stdout: "one\n", stderr: "" });
    expect((await cli.run(["logs", "box"])).stdout, "the newest").toBe("one\n");
    const following = cli.start(["logs", "-f", "box", id]);
    expect(await firstLine(following)).toBe("one");
    let rest = "";
    following.stdout?.on("data", (text) => {
      rest += text;
    });
    await cli.run(["exec", "box", "--", "sh", "-c", "echo two > fifo"]);
    await expect.poll(() => following.exitCode).toBe(0);
    await expect.poll(() => rest).toBe("two\n");
    expect((await cli.run(["ps", "--all", "box"])).stdout).toMatch(new RegExp(`^${id} .*exit 3`, "m"));
    expect(await cli.run(["logs", "box", "p99"])).toMatchObject({
      code: 66,
      stderr: "error: no process p99\nhint: `sandboxer ps --all box` shows what there is.\n",
    });
    expect(await cli.run(["kill", "box", "p99"])).toMatchObject({
      code: 66,
      stderr: "error: no process p99 runs\nhint: `sandboxer ps box` shows what does.\n",
    });
  });

  it.each([
    [["net", "box", "--allow", "example.com"], "hint: Make one that has: `sandboxer create --allow HOST`"],
    [["elevate", "box"], "hint: As in: sandboxer elevate box --allow files.example.com"],
    [["profiles", "publish", "/nothing-here"], "hint: Check the path; it is one of this machine's."],
  ])("says what to do instead of %j", async (args, hint) => {
    expect((await cli.run(args)).stderr).toContain(hint);
  });

  it("two programs without a gateway use one sandbox at the same time", async () => {
    const first = cli.start(["exec", "box", "--", "sh", "-c", "echo up; cat"]);
    expect(await firstLine(first)).toBe("up");
    expect((await cli.run(["exec", "box", "--", "echo", "second"])).stdout).toBe("second\n");
    const said = once(first.stdout as NodeJS.ReadableStream, "data");
    first.stdin?.end("still here\n");
    expect(String((await said)[0])).toBe("still here\n");
    await expect.poll(() => first.exitCode).toBe(0);
  });

  it("opens a shell with this terminal's size, keys, and exit code, and gives the terminal back", async () => {
    const terminal = inTerminal(["shell", "box"]);
    terminal.type("stty size; tty\r");
    await terminal.sees("31 97");
    const { stdout } = await cli.run(["ps", "box"]);
    expect(stdout, "what was typed, not what it takes").toMatch(/^p\d+ .* running .* shell$/m);
    terminal.type("sleep 60\r");
    await terminal.sees("sleep 60");
    terminal.type("\x03");
    terminal.type("exit 9\r");
    const [code] = await once(terminal.child, "exit", { signal: AbortSignal.timeout(90_000) });
    expect(code).toBe(9);
  });

  it("gives back the terminal in the state in which it was", async () => {
    const shell = cli.commandLine(["exec", "-t", "box", "--", "sh", "-c", "exit 4"]);
    const terminal = spawn(
      "script",
      ["-qefc", `a=$(stty -g); ${shell}; echo =$?; test $a = $(stty -g) && echo same`, "/dev/null"],
      {
        env: cli.environment,
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    let shown = "";
    terminal.stdout.on("data", (text) => {
      shown += text;
    });
    await once(terminal, "exit", { signal: AbortSignal.timeout(90_000) });
    expect(shown).toContain("=4\r\nsame");
  });

  it("a shell without a name has a sandbox of its own, gone with it", async () => {
    const terminal = inTerminal(["shell"]);
    terminal.type("ls -A ~ | wc -l; exit\r");
    const [code] = await once(terminal.child, "exit", { signal: AbortSignal.timeout(90_000) });
    expect(code).toBe(0);
    expect(JSON.parse((await cli.run(["ls", "--json"])).stdout)).toHaveLength(1);
  });

  it("forwards a port on loopback", async () => {
    const server = "import http.server as h; h.test(h.SimpleHTTPRequestHandler, port=8000, bind='127.0.0.1')";
    await cli.run(["exec", "box", "--", "sh", "-c", "mkdir -p www && echo hello > www/page"]);
    await cli.run(["exec", "-d", "--cwd", "www", "box", "--", "python3", "-c", server]);
    const forward = cli.start(["forward", "--json", "box", "0:8000"]);
    const { port } = JSON.parse(await firstLine(forward)) as { port: number };
    const page = async () => (await fetch(`http://127.0.0.1:${port}/page`)).text();
    await expect.poll(() => page().catch(() => "")).toBe("hello\n");
    expect(await Promise.all([page(), page(), page()])).toEqual(["hello\n", "hello\n", "hello\n"]);
    const idle = createConnection(port, "127.0.0.1");
    await once(idle, "connect");
    idle.destroy();
    expect(await end(forward, "SIGINT")).toBe(0);
  });
});
