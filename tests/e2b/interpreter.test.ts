import { expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { interpreting } from "./interpreting.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

describe("E2B's own code interpreter", () => {
  const at = interpreting();

  it("runs Python with names that stay, results, output and errors", async () => {
    const seen: string[] = [];
    await at.sandbox.runCode("import os, sys\nx = 20");
    const ran = await at.sandbox.runCode(
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
    const failed = await at.sandbox.runCode("def f():\n  raise ValueError('bad')\nf()");
    expect(failed.error).toMatchObject({ name: "ValueError", value: "bad" });
    expect(failed.error?.traceback).toContain("raise ValueError('bad')");
    expect((await at.sandbox.runCode("'text'")).text).toBe("text");
    expect((await at.sandbox.runCode("import asyncio\nawait asyncio.sleep(0, 'waited')")).text).toBe(
      "waited",
    );
    expect((await at.sandbox.runCode("!echo from a shell")).logs.stdout.join("")).toBe("from a shell\n");
  });

  it("shows what knows how to show itself", async () => {
    const code = `
class Shown:
    def _repr_html_(self): return "<b>it</b>"
    def _repr_png_(self): return b"\\x89PNG"
    def _repr_json_(self): return {"a": [1]}
display(Shown())
Shown()`;
    const { results } = await at.sandbox.runCode(code);
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
    expect((await at.sandbox.runCode(code, { envs: { FOR_ONE: "here" } })).text).toBe("here");
    expect((await at.sandbox.runCode(code)).text).toBe("none");
  });

  it("runs JavaScript, TypeScript and bash, each with a state of its own", async () => {
    await at.sandbox.runCode("const a = await Promise.resolve(4); let b = 2", { language: "js" });
    const js = await at.sandbox.runCode(
      "import { basename } from 'node:path'\nconsole.log(basename('/x/y')); a * b",
      {
        language: "js",
      },
    );
    expect(js).toMatchObject({ text: "8", logs: { stdout: ["y\n"] } });
    const broken = await at.sandbox.runCode("nothing.at.all", { language: "js" });
    expect(broken.error).toMatchObject({ name: "ReferenceError" });
    const ts = await at.sandbox.runCode("enum E { A = 7 }\nconst e: E = E.A; e as number", {
      language: "ts",
    });
    expect(ts.text).toBe("7");
    await at.sandbox.runCode("word=kept; cd /tmp", { language: "bash" });
    const bash = await at.sandbox.runCode("echo $word $PWD $ONE; echo no >&2", {
      language: "bash",
      envs: { ONE: "it's" },
    });
    expect(bash.logs).toEqual({ stdout: ["kept /tmp it's\n"], stderr: ["no\n"] });
    expect((await at.sandbox.runCode("echo [$ONE]", { language: "bash" })).logs.stdout.join("")).toBe("[]\n");
    await expect(at.sandbox.runCode("1", { language: "cobol" })).rejects.toThrow("400");
  });

  it("makes, lists, restarts and removes contexts", async () => {
    const context = await at.sandbox.createCodeContext({ cwd: "/tmp", language: "python" });
    await at.sandbox.runCode("x = 'mine'", { context });
    expect((await at.sandbox.runCode("import os; (x, os.getcwd())", { context })).text).toBe(
      "('mine', '/tmp')",
    );
    expect((await at.sandbox.runCode("x")).text).toBe("20");
    expect((await at.sandbox.listCodeContexts()).map(({ id }) => id)).toContain(context.id);
    await at.sandbox.restartCodeContext(context);
    expect((await at.sandbox.runCode("x", { context })).error?.name).toBe("NameError");
    await at.sandbox.removeCodeContext(context);
    await expect(at.sandbox.runCode("x", { context })).rejects.toThrow("not found");
  });

  it("goes on after a pause", async () => {
    await at.sandbox.runCode("slept = 'well'");
    await at.sandbox.pause();
    await at.sandbox.connect();
    expect((await at.sandbox.runCode("slept")).text).toBe("well");
  });

  it("interrupts the cell of a client that leaves, and keeps its names", async () => {
    await at.sandbox.runCode("left = 1");
    await expect(at.sandbox.runCode("import time\ntime.sleep(600)", { timeoutMs: 3_000 })).rejects.toThrow();
    expect((await at.sandbox.runCode("left")).text).toBe("1");
  });

  it("outlives the gateway, with its names and its contexts", async () => {
    const context = await at.sandbox.createCodeContext({ language: "bash", cwd: "/tmp" });
    const idle = await at.sandbox.createCodeContext({ cwd: "/tmp" });
    await at.sandbox.runCode("here=before", { context });
    await at.sandbox.runCode("kept = [1, 2]");
    const js = { language: "js" };
    await at.sandbox.runCode("var kept = [1, 2]", js);
    const child =
      "require('child_process').execSync('for n in 1 2 3 4 5 6; do echo late; sleep 0.3; done', { stdio: 'inherit' })";
    const leftToo = at.sandbox.runCode(child, js).catch(() => {});
    // It goes on by itself while nobody listens, and its end is not taken for another's.
    const left = at.sandbox
      .runCode("import time\nfor n in range(20): print('late', n); time.sleep(0.1)")
      .catch(() => {});
    await expect
      .poll(async () => (await at.sandbox.commands.list()).some(({ cmd }) => cmd === "python3"), {
        timeout: 60_000,
      })
      .toBe(true);
    const before = (await at.sandbox.listCodeContexts()).map(({ id }) => id).toSorted();
    await at.changeGateway();
    await left;
    await leftToo;
    expect((await at.sandbox.listCodeContexts()).map(({ id }) => id).toSorted()).toEqual(before);
    const seen = await at.sandbox.runCode("print('now'); kept");
    expect(seen).toMatchObject({ text: "[1, 2]" });
    expect(seen.logs.stdout.join("")).toBe("now\n");
    expect(await at.sandbox.runCode("console.log('now'); kept.length", js)).toMatchObject({
      text: "2",
      logs: { stdout: ["now\n"] },
    });
    expect((await at.sandbox.runCode("echo $here $PWD", { context })).logs.stdout).toEqual(["before /tmp\n"]);
    expect((await at.sandbox.runCode("import os; os.getcwd()", { context: idle })).text).toBe("/tmp");
  });

  it("says that a cell of the gateway before does not end, and restarts its context", async () => {
    const context = await at.sandbox.createCodeContext();
    const begun = Promise.withResolvers<void>();
    const endless = `
import time
print('begun')
while True:
    try: time.sleep(600)
    except KeyboardInterrupt: pass`;
    const left = at.sandbox.runCode(endless, { context, onStdout: () => begun.resolve() }).catch(() => {});
    await begun.promise;
    // Its client leaves with the gateway: whether it is ended by that or goes on, the next one answers.
    await at.changeGateway();
    await left;
    await expect(at.sandbox.runCode("1 + 1", { context })).rejects.toThrow("409");
    await at.sandbox.restartCodeContext(context);
    expect((await at.sandbox.runCode("1 + 1", { context })).text).toBe("2");
    const runners = async () =>
      (await at.sandbox.commands.list()).filter(({ args }) => args.at(-1)?.includes(context.id)).length;
    await expect.poll(runners).toBe(1);
    await at.sandbox.runCode("x = 1", { context });
    expect((await at.sandbox.runCode("x", { context })).text).toBe("1");
  });

  it("says when a cell ended its own context", async () => {
    const context = await at.sandbox.createCodeContext();
    const { error } = await at.sandbox.runCode("import os; os._exit(3)", { context });
    expect(error?.name).toBe("ContextEnded");
    expect((await at.sandbox.runCode("1 + 1", { context })).text).toBe("2");
  });
});
