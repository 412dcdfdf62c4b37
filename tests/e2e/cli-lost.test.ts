import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished, vi } from "vitest";
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

  it("takes back what an editor asked of the terminal, which cannot any more", async () => {
    await cli.run(["create", "--name", "drawn"]);
    const { child, seen, closed } = shellInTerminal(["drawn"]);
    await expect.poll(() => seen.text, PATIENT).toContain("drawn:~$ ");
    child.stdin.write("printf '\\033[?1049h\\033[?25l\\033[?1000hin-%s' an-editor; cat\r");
    await expect.poll(() => seen.text, PATIENT).toContain("in-an-editor");
    await end(gateway, "SIGKILL");
    await closed;
    expect(seen.text).toContain("\x1b[?25h\x1b[?1000l\x1b[?1049l\r\nerror: ");
    expect(seen.text).toMatch(/code=69\r\nas-it-was\r\n$/);
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

describe("a forwarded port", () => {
  /** What it says on standard error, once it listens. */
  async function forwarding(name: string) {
    const forward = cli.start(["forward", name, "0:80"]);
    onTestFinished(() => void forward.kill("SIGKILL"));
    const said = { text: "" };
    forward.stderr?.setEncoding("utf8").on("data", (part: string) => {
      said.text += part;
    });
    const [, port] = /127\.0\.0\.1:(\d+)/.exec(await firstLine(forward)) ?? [];
    return { forward, said, port: Number(port) };
  }

  const heardFrom = (port: number) =>
    new Promise<string>((resolve) => {
      let text = "";
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      socket.on("data", (part) => (text += part)).on("close", () => resolve(text));
    });

  it("is told of with nobody on it: a gateway that goes", async () => {
    await cli.run(["create", "--name", "served"]);
    const { forward, said } = await forwarding("served");
    await end(gateway, "SIGKILL");
    await expect.poll(() => said.text, PATIENT).toMatch(/^error: .*gateway.*\nhint: .*\n$/);
    expect(await end(forward, "SIGINT")).toBe(0);
  });

  it("follows a gateway that starts again on another port", async () => {
    await cli.run(["create", "--name", "moved"]);
    const python =
      "import socketserver as s\nclass H(s.BaseRequestHandler):\n def handle(self): self.request.sendall(b'hello')\ns.ThreadingTCPServer(('127.0.0.1',80),H).serve_forever()";
    await cli.run(["exec", "-d", "moved", "--", "sudo", "python3", "-c", python]);
    const { forward, said, port } = await forwarding("moved");
    await expect.poll(() => heardFrom(port), PATIENT).toBe("hello");
    await end(gateway, "SIGKILL");
    await expect.poll(() => said.text, PATIENT).toContain("error: ");
    gateway = cli.start(["up", "--port", "0", "--json"]);
    await firstLine(gateway);
    await expect.poll(() => said.text, PATIENT).toContain("leads there again.");
    expect(await heardFrom(port)).toBe("hello");
    expect(await end(forward, "SIGINT")).toBe(0);
  });

  it("is told of with nobody on it: a pause, and once it goes on; with its sandbox it ends", async () => {
    await cli.run(["create", "--name", "served"]);
    const { forward, said } = await forwarding("served");
    await cli.run(["pause", "served"]);
    const paused = "error: the sandbox is paused\nhint: `sandboxer resume served` brings it back.\n";
    await expect.poll(() => said.text, PATIENT).toBe(paused);
    await cli.run(["resume", "served"]);
    await expect.poll(() => said.text, PATIENT).toMatch(/\n127\.0\.0\.1:\d+ leads there again\.\n$/);
    const closed = once(forward, "close", { signal: AbortSignal.timeout(60_000) });
    await cli.run(["rm", "served"]);
    expect((await closed)[0]).toBe(69);
    expect(said.text).toContain("error: the sandbox is destroyed");
  });

  it("is refused of one that is paused or stopped, with the way to bring it back", async () => {
    await cli.run(["create", "--name", "asleep", "--persistent"]);
    for (const [put, back] of [
      ["pause", "resume"],
      ["stop", "start"],
    ] as const) {
      await cli.run([put, "asleep"]);
      const refused = cli.start(["forward", "asleep", "0:80"]);
      let said = "";
      refused.stderr?.on("data", (part) => (said += part));
      const closed = once(refused, "close", { signal: AbortSignal.timeout(30_000) }).catch(() => [undefined]);
      const [code] = await closed;
      refused.kill("SIGKILL");
      expect({ code, said }).toMatchObject({
        code: 75,
        said: expect.stringContaining(`sandboxer ${back} asleep`),
      });
      await cli.run([back, "asleep"]);
    }
  });
});
