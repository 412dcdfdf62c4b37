import { Sandbox } from "@e2b/code-interpreter";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

describe("E2B's own code interpreter", () => {
  let door: Door;
  let sandbox: Sandbox;

  beforeAll(async () => {
    door = await openDoor();
    sandbox = await Sandbox.create(door.options);
  });
  afterAll(async () => {
    await sandbox?.kill();
    await door?.close();
  });

  it("runs Python with names that stay, results, output and errors", async () => {
    const seen: string[] = [];
    await sandbox.runCode("import os, sys\nx = 20");
    const ran = await sandbox.runCode(
      "print('größer'); os.system('echo below'); sys.stderr.write('no\\n'); x + 1",
      {
        onStdout: ({ line }) => void seen.push(line),
      },
    );
    expect(ran).toMatchObject({
      text: "21",
      logs: { stderr: ["no\n"] },
      error: undefined,
      executionCount: 2,
    });
    expect(ran.logs.stdout.join("")).toBe("größer\nbelow\n");
    expect(seen.join("")).toBe("größer\nbelow\n");
    const failed = await sandbox.runCode("def f():\n  raise ValueError('bad')\nf()");
    expect(failed.error).toMatchObject({ name: "ValueError", value: "bad" });
    expect(failed.error?.traceback).toContain("raise ValueError('bad')");
    expect((await sandbox.runCode("'text'")).text).toBe("text");
    expect((await sandbox.runCode("import asyncio\nawait asyncio.sleep(0, 'waited')")).text).toBe("waited");
    expect((await sandbox.runCode("!echo from a shell")).logs.stdout.join("")).toBe("from a shell\n");
  });

  it("shows what knows how to show itself", async () => {
    const code = `
class Shown:
    def _repr_html_(self): return "<b>it</b>"
    def _repr_png_(self): return b"\\x89PNG"
    def _repr_json_(self): return {"a": [1]}
display(Shown())
Shown()`;
    const { results } = await sandbox.runCode(code);
    expect(results.map(({ isMainResult, html, png, json }) => ({ isMainResult, html, png, json }))).toEqual(
      [false, true].map((isMainResult) => ({
        isMainResult,
        html: "<b>it</b>",
        png: "iVBORw==",
        json: { a: [1] },
      })),
    );
  });

  it("has variables for one cell only", async () => {
    const code = "import os\nos.environ.get('FOR_ONE', 'none')";
    expect((await sandbox.runCode(code, { envs: { FOR_ONE: "here" } })).text).toBe("here");
    expect((await sandbox.runCode(code)).text).toBe("none");
  });

  it("runs JavaScript, TypeScript and bash, each with a state of its own", async () => {
    await sandbox.runCode("const a = await Promise.resolve(4); let b = 2", { language: "js" });
    const js = await sandbox.runCode(
      "import { basename } from 'node:path'\nconsole.log(basename('/x/y')); a * b",
      {
        language: "js",
      },
    );
    expect(js).toMatchObject({ text: "8", logs: { stdout: ["y\n"] } });
    const broken = await sandbox.runCode("nothing.at.all", { language: "js" });
    expect(broken.error).toMatchObject({ name: "ReferenceError" });
    const ts = await sandbox.runCode("enum E { A = 7 }\nconst e: E = E.A; e as number", { language: "ts" });
    expect(ts.text).toBe("7");
    await sandbox.runCode("word=kept; cd /tmp", { language: "bash" });
    const bash = await sandbox.runCode("echo $word $PWD $ONE; echo no >&2", {
      language: "bash",
      envs: { ONE: "it's" },
    });
    expect(bash.logs).toEqual({ stdout: ["kept /tmp it's\n"], stderr: ["no\n"] });
    expect((await sandbox.runCode("echo [$ONE]", { language: "bash" })).logs.stdout.join("")).toBe("[]\n");
    await expect(sandbox.runCode("1", { language: "cobol" })).rejects.toThrow("400");
  });

  it("makes, lists, restarts and removes contexts", async () => {
    const context = await sandbox.createCodeContext({ cwd: "/tmp", language: "python" });
    await sandbox.runCode("x = 'mine'", { context });
    expect((await sandbox.runCode("import os; (x, os.getcwd())", { context })).text).toBe("('mine', '/tmp')");
    expect((await sandbox.runCode("x")).text).toBe("20");
    expect((await sandbox.listCodeContexts()).map(({ id }) => id)).toContain(context.id);
    await sandbox.restartCodeContext(context);
    expect((await sandbox.runCode("x", { context })).error?.name).toBe("NameError");
    await sandbox.removeCodeContext(context);
    await expect(sandbox.runCode("x", { context })).rejects.toThrow("not found");
  });

  it("goes on after a pause", async () => {
    await sandbox.runCode("slept = 'well'");
    await sandbox.pause();
    await sandbox.connect();
    expect((await sandbox.runCode("slept")).text).toBe("well");
  });

  it("interrupts the cell of a client that leaves, and keeps its names", async () => {
    await sandbox.runCode("left = 1");
    await expect(sandbox.runCode("import time\ntime.sleep(600)", { timeoutMs: 3_000 })).rejects.toThrow();
    expect((await sandbox.runCode("left")).text).toBe("1");
  });

  it("outlives the gateway, with its names and its contexts", async () => {
    const context = await sandbox.createCodeContext({ language: "bash", cwd: "/tmp" });
    const idle = await sandbox.createCodeContext({ cwd: "/tmp" });
    await sandbox.runCode("here=before", { context });
    await sandbox.runCode("kept = [1, 2]");
    // It goes on by itself while nobody listens, and its end is not taken for another's.
    const left = sandbox
      .runCode("import time\nfor n in range(20): print('late', n); time.sleep(0.1)")
      .catch(() => {});
    await expect
      .poll(async () => (await sandbox.commands.list()).some(({ cmd }) => cmd === "python3"), {
        timeout: 60_000,
      })
      .toBe(true);
    const before = (await sandbox.listCodeContexts()).map(({ id }) => id).toSorted();
    await door.gateway.close();
    await left;
    door = await openDoor(door.home);
    sandbox = await Sandbox.connect(sandbox.sandboxId, door.options);
    expect((await sandbox.listCodeContexts()).map(({ id }) => id).toSorted()).toEqual(before);
    const seen = await sandbox.runCode("print('now'); kept");
    expect(seen).toMatchObject({ text: "[1, 2]" });
    expect(seen.logs.stdout.join("")).toBe("now\n");
    expect((await sandbox.runCode("echo $here $PWD", { context })).logs.stdout).toEqual(["before /tmp\n"]);
    expect((await sandbox.runCode("import os; os.getcwd()", { context: idle })).text).toBe("/tmp");
  });

  it("says when a cell ended its own context", async () => {
    const context = await sandbox.createCodeContext();
    const { error } = await sandbox.runCode("import os; os._exit(3)", { context });
    expect(error?.name).toBe("ContextEnded");
    expect((await sandbox.runCode("1 + 1", { context })).text).toBe("2");
  });
});
