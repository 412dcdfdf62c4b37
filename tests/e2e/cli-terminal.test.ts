import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

let home: string;
let cli: ReturnType<typeof cliOf>;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "sandboxer-terminal-"));
  cli = cliOf(home);
});
afterAll(async () => {
  await cli.run(["rm", "--all"]);
  await removeEngine(join(home, "engine"), home);
}, 300_000);

/**
 * Types into a real terminal: each answer when its question has been seen. `-e` passes the exit code
 * on; a shell that waited beside the command would take Ctrl-C for its own.
 */
async function type(args: string[], ...dialogue: [seen: string, typed: string][]) {
  const child = spawn("script", ["-qec", `exec ${cli.commandLine(args)}`, "/dev/null"], {
    env: { ...cli.environment, TERM: "xterm" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), 90_000);
  let text = "";
  let from = 0;
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
    const [next] = dialogue;
    if (!next || !text.slice(from).includes(next[0])) return;
    from = text.length;
    dialogue.shift();
    child.stdin.write(next[1]);
  });
  const [code] = await once(child, "close");
  clearTimeout(timer);
  return { code, text };
}

const CTRL_C = "\x03";
const CTRL_D = "\x04";

describe("in a terminal", () => {
  it("run: Ctrl-C goes to the command, and a second one ends what does not listen", async () => {
    const polite = "trap 'echo bye; exit 9' INT; echo ready; while :; do sleep 0.05; done";
    expect(await type(["run", "--", "sh", "-c", polite], ["ready", CTRL_C])).toMatchObject({
      code: 9,
      text: expect.stringContaining("bye"),
    });
    const deaf = "trap 'echo heard' INT; echo ready; while :; do sleep 0.05; done";
    const ended = await type(["run", "--", "sh", "-c", deaf], ["ready", CTRL_C], ["heard", CTRL_C]);
    expect(ended.code).toBe(130);
  });

  it("run: what is typed reaches the command by the line, and Ctrl-D is its end", async () => {
    const script = "echo ask; while read x; do echo got:$x; done; test -t 0 || echo no terminal";
    const typed = await type(["run", "--", "sh", "-c", script], ["ask", "word\r"], ["got:word", CTRL_D]);
    expect(typed).toMatchObject({ code: 0, text: expect.stringMatching(/got:word[\s\S]*no terminal/) });
  });

  it("run: in the background it goes on, although it may not read", async () => {
    const job = cli.commandLine(["run", "--", "echo", "went-on"]);
    const shell = spawn("script", ["-qec", `bash -mc "${job} & wait"`, "/dev/null"], {
      env: { ...cli.environment, TERM: "xterm" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const timer = setTimeout(() => shell.kill("SIGKILL"), 90_000);
    let text = "";
    shell.stdout.setEncoding("utf8").on("data", (part: string) => (text += part));
    await once(shell, "close");
    clearTimeout(timer);
    expect(text).toContain("went-on");
    expect(text).not.toMatch(/Stopped/i);
  });

  it("run -t: the command has a terminal, and ours is given back", async () => {
    const ended = await type(
      ["run", "-t", "--", "sh", "-c", "echo ask; read x; echo got:$x; tty"],
      ["ask", "word\r"],
    );
    expect(ended).toMatchObject({ code: 0, text: expect.stringMatching(/got:word[\s\S]*\/dev\/pts\/0/) });
  });

  it("create, exec, shell, rm: one sandbox from its beginning to its end", async () => {
    const { text } = await type(["create", "--name", "demo", "--ttl", "5m"]);
    expect(text.replaceAll("\x1b[K", "\n")).toMatch(/^[a-z0-9]{20}\r\n$/m);
    expect((await type(["exec", "demo", "--", "sh", "-c", "exit 3"])).code).toBe(3);
    const shell = await type(["shell", "demo"], ["$ ", "echo in-$((40+2))\r"], ["in-42", "exit 5\r"]);
    expect(shell.code).toBe(5);
    expect(shell.text, "one sees where one is").toContain("user@demo:~$ ");
    const own = `echo "PS1='mi''ne> '" > ~/.bashrc; env | grep -c PS1; ls /dev/fd | wc -l; exec $SHELL -i\r`;
    const first = await type(["shell", "demo"], ["$ ", own], ["mine> ", "exit\r"]);
    expect(first.text).toMatch(/user@demo:~\$ [\s\S]*0\s+4\s[\s\S]*mine> /);
    const again = await type(["shell", "demo"], ["mine> ", "exit 6\r"]);
    expect(again.code, "what is set inside goes before").toBe(6);
    expect((await cli.run(["inspect", "demo"])).stdout).toMatch(/state +running[\s\S]*where +local on/);
    expect(JSON.parse((await cli.run(["inspect", "demo", "--json"])).stdout)).toMatchObject({ name: "demo" });
    expect((await cli.run(["ls", "--quiet"])).stdout).toBe("demo\n");
    expect((await type(["rm", "demo"])).code).toBe(0);
    expect((await type(["ls"])).text).toContain("There are none");
  });

  it("AZ-10: what a sandbox is called inside is not obeyed by the terminal", async () => {
    const hostile = "\x1b]52;c;aGk=\x07\u202e";
    await cli.run(["create", "--name", "sly"]);
    await cli.run(["exec", "-d", "sly", "--", "sh", "-c", "sleep 30", hostile]);
    const { text } = await type(["ps", "sly"]);
    expect(text).toContain("\\u{1b}]52");
    for (const bad of ["\x1b]52", "\x07", "\u202e"]) expect(text).not.toContain(bad);
    await cli.run(["rm", "sly"]);
  });
});

describe("diff on a terminal", () => {
  it("AZ-10: shows what a sandbox wrote without obeying it", async () => {
    const project = await mkdtemp(join(tmpdir(), "sandboxer-terminal-project-"));
    const write = "printf '\\033]52;c;aGk=\\007\\ttabbed' > sly; echo plain > file; mkdir empty";
    await cli.run(["run", "-w", project, "--name", "drawn", "--", "sh", "-c", write]);
    const { text } = await type(["diff", "drawn"]);
    expect(text).toContain("\\u{1b}]52;c;aGk=\\u{7}\ttabbed");
    expect(text).toContain("+plain");
    expect(text, "git knows no folder, and a reader wants to").toMatch(/^A {2}empty\/\r$/m);
    for (const bad of ["\x1b]52", "\x07"]) expect(text).not.toContain(bad);
    const { stdout } = await cli.run(["diff", "drawn"]);
    expect(stdout, "a program reads the patch itself").toContain("+\x1b]52;c;aGk=\x07\ttabbed");
    for (const verb of ["diff", "apply", "rollback"]) {
      const slip = await cli.run([verb, "drawn", "fiel"]);
      expect(slip, verb).toMatchObject({ code: 66, stderr: expect.stringContaining("there is no fiel") });
    }
    const lines = "i=0; while [ $i -lt 40000 ]; do echo line-$i; i=$((i+1)); done > many";
    await cli.run(["exec", "drawn", "--cwd", "/workspace", "--", "sh", "-c", lines]);
    const piped = `${cli.commandLine(["diff", "drawn"])} | head -1; echo "\${PIPESTATUS[0]}"`;
    const { stdout: firstOfIt, stderr } = await promisify(execFile)("bash", ["-c", piped], {
      env: cli.environment,
    });
    expect([firstOfIt.trim().split("\n").at(-1), stderr], "who leaves ends it, quietly").toEqual(["141", ""]);
    await cli.run(["rm", "drawn"]);
    await rm(project, { recursive: true, force: true });
  });
});

describe("an end that the command did not choose", () => {
  it("is said in one line, and one that it chose is not", async () => {
    expect(await cli.run(["run", "--timeout", "200ms", "--", "sleep", "30"])).toMatchObject({
      code: 124,
      stderr: expect.stringContaining("ended: the time of --timeout was up\n"),
    });
    expect(await cli.run(["run", "--", "sh", "-c", "kill -9 $$"]), "by its own hand").toMatchObject({
      code: 137,
      stderr: expect.not.stringContaining("ended:"),
    });
  });

  it("comes by kill for what was left running, and not before it is asked for", async () => {
    await cli.run(["create", "--name", "left"]);
    const { stdout } = await cli.run(["exec", "-d", "left", "--", "sleep", "300"]);
    const process = stdout.trim();
    expect((await cli.run(["ps", "left"])).stdout).toContain("sleep 300");
    expect((await cli.run(["kill", "left", process, "--signal", "nosuch"])).code).toBe(2);
    expect(await cli.run(["kill", "left", process, "-s", "SIGKILL"])).toMatchObject({ code: 0, stderr: "" });
    await expect
      .poll(async () => (await cli.run(["ps", "left", "--all"])).stdout, { timeout: 30_000 })
      .toMatch(/exit 137.*sleep 300/);
    expect(await cli.run(["kill", "left", process])).toMatchObject({ code: 66 });
    expect((await cli.run(["exec", "left", "echo", "-n", "--", "-e"])).stdout, "its own options").toBe(
      "-- -e",
    );
    expect((await cli.run(["diff", "left"])).stderr).toContain("create -w .");
    expect((await cli.run(["pause", "left"])).stdout, "named as it was").toBe("left\n");
    expect((await cli.run(["exec", "left", "--", "true"])).stderr).toContain("`sandboxer resume left`");
    expect((await cli.run(["resume", "left"])).stdout).toBe("left\n");
    expect((await cli.run(["rm", "left"])).stdout).toBe("left\n");
  });
});

describe("mistakes", () => {
  it.each([
    [["rnu"], 2, "Did you mean run?"],
    [["run", "--timeot", "5s", "--", "true"], 2, "Did you mean --timeout?"],
    [["run", "--frobnicate", "--", "true"], 2, "sandboxer run --help` shows what there is"],
    [["run", "--profil", "python", "--", "true"], 2, "Did you mean --profile?"],
    [["run", "--profile", "nosuch", "--", "true"], 66, "profile"],
    [["run"], 2, "sandboxer run -- echo hello"],
    [["exec", "demo"], 2, "sandboxer exec build -- ls -la"],
    [["exec", "nosuch", "--", "true"], 66, "sandboxer ls"],
    [["create", "--ttl", "soon"], 2, "90s, 30m or 1h30m"],
    [["create", "--ttl", "8d"], 2, "at most 7d"],
    [["create", "--isolation", "vm"], 2, "process, container, userspace-kernel, microvm"],
    [["route", "explain", "--visibility", "all"], 2, "private, team, org"],
    [["rm"], 2, "sandboxer ls"],
    [["run", "-w", "/nosuch", "--", "true"], 66, "`-w .` takes the one you are in"],
    [["completion", "csh"], 2, "bash, fish, zsh"],
    [["preview", "demo", "0x10"], 2, "0 to 65535"],
    [["budget", "set", "abc"], 2, "dollars such as 2.50"],
    [["attach"], 2, "--fresh or --reuse"],
    [["snapshots", "import", "/nosuch/x.tar"], 66, "/nosuch/x.tar"],
    [["images", "import", "/nosuch/x.tar"], 66, "/nosuch/x.tar"],
    [["snapshots", "export", "snp_x", "/nosuch/x.tar"], 66, "/nosuch"],
    [["backup", "/nosuch/x.db"], 66, "/nosuch"],
    [["restore", "nosuch"], 66, "`sandboxer snapshots` shows"],
    [["keys", "revoke", "nosuch"], 66, "`sandboxer keys` shows"],
    [["volumes", "rm", "nosuch"], 66, "`sandboxer volumes` shows"],
  ])("%j says what to do instead", async (args, code, said) => {
    expect(await cli.run(args)).toMatchObject({ code, stderr: expect.stringContaining(said), stdout: "" });
    // Behind the command's own name, which may be two words.
    const at = ["budget", "snapshots", "images", "route", "keys", "volumes"].includes(args[0] ?? "") ? 2 : 1;
    const asJson = await cli.run(args.toSpliced(at, 0, "--json"));
    expect(JSON.parse(asJson.stderr)).toMatchObject({
      error: { code: expect.any(String), hint: expect.any(String) },
    });
  });
});

describe("color on a terminal", () => {
  it.each([
    ["is there", {}, true],
    ["is not, with NO_COLOR", { NO_COLOR: "1" }, false],
    ["is not, where a terminal has none", { TERM: "dumb" }, false],
  ])("%s", async (_, settings, isColored) => {
    // Node shows none to what it takes for a robot, either.
    const {
      NO_COLOR: _no,
      FORCE_COLOR: _force,
      CI: _ci,
      ...rest
    } = cli.environment as Record<string, string>;
    const child = spawn("script", ["-qec", cli.commandLine(["inspect", "nobody"]), "/dev/null"], {
      env: { ...rest, TERM: "xterm", ...settings },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const shown = await text(child.stdout);
    expect(shown).toContain("no sandbox nobody");
    expect(shown.includes("\x1b[31merror:")).toBe(isColored);
    expect(shown.includes("\x1b[")).toBe(isColored);
  });
});

describe("a home that cannot be one", () => {
  it.each([
    ["a file", "/etc/passwd"],
    ["a folder that takes none", "/proc/nosuch/home"],
    ["a link that leads nowhere", "dangling"],
  ])("%s is named, with what to set, and waited for by nobody", async (_, at) => {
    await symlink("/nosuch/disk", join(home, "dangling")).catch(() => {});
    const lost = cliOf(resolve(home, at));
    for (const args of [["ls"], ["run", "--", "true"], ["up", "--port", "0"]]) {
      const { code, stderr } = await lost.run(args);
      expect(stderr, args[0]).toMatch(/cannot be this installation's home: E[A-Z]+\nhint: .*SANDBOXER_HOME/);
      expect([66, 73], args[0]).toContain(code);
    }
  });
});

describe("a sandbox's name with a slip in it", () => {
  it.each([
    ["exec", ["exec", "reveiw", "--", "true"]],
    ["rm", ["rm", "revew"]],
    ["inspect", ["inspect", "revie"]],
  ])("%s names the one that was meant, and touches nothing", async (_, args) => {
    await cli.run(["create", "--name", "review", "--reuse", "session:review"]);
    expect(await cli.run(args)).toMatchObject({
      code: 66,
      stderr: expect.stringContaining("Did you mean review?"),
    });
    expect((await cli.run(["ls", "--quiet"])).stdout).toContain("review");
  });

  it("takes the beginning of an id for the id, and says so", async () => {
    const { stdout } = await cli.run(["create"]);
    const id = stdout.trim();
    const { stderr } = await cli.run(["inspect", id.slice(0, 8)]);
    expect(stderr).toContain(`Did you mean ${id}?`);
    await cli.run(["rm", id]);
  });
});

describe("help", () => {
  it("has every command under a heading, and an example in each", async () => {
    const { stdout } = await cli.run(["--help"]);
    expect(stdout).toMatch(/Sandboxes:\n +run/);
    expect(stdout).not.toContain("Others:");
    const names = [...stdout.matchAll(/^ {2}([a-z]+)(?: \[| {2})/gm)].map(([, name]) => name ?? "");
    expect(names.length).toBeGreaterThan(20);
    for (const name of ["run", "create", "exec", "shell", "rm", "inspect", "preview", "completion"]) {
      expect((await cli.run([name, "--help"])).stdout, name).toMatch(/Examples?:\n {2}\$ .*sandboxer/);
    }
  });

  it("completes commands, options and names in bash, all that fit", async () => {
    const { stdout: script } = await cli.run(["completion", "bash"]);
    const complete = async (...words: string[]) => {
      const line = words.map((word) => `'${word}'`).join(" ");
      const ask = `sandboxer() { echo demo; }; ${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _sandboxer; echo "\${COMPREPLY[@]}"`;
      return (await promisify(execFile)("bash", ["-c", ask])).stdout.trim().split(" ");
    };
    expect(await complete("sandboxer", "ru")).toEqual(["run"]);
    expect(await complete("sandboxer", "run", "--time")).toEqual(["--timeout"]);
    expect(await complete("sandboxer", "keys", "")).toContain("revoke");
    expect(await complete("sandboxer", "keys", "create", "--max")).toContain("--max-ttl");
    expect(await complete("sandboxer", "exec", "de")).toEqual(["demo"]);
  });
});
