import type { Execution } from "@e2b/code-interpreter";
import { expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { interpreting } from "./interpreting.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

/** What cells may do to themselves. After each, the names of the cell before it are still there. */
const UNKIND: Record<string, { keep: string; kept: string; cells: Record<string, string | undefined> }> = {
  python: {
    keep: "kept = 41",
    kept: "print('said', end=''); kept + 1",
    cells: {
      "requests = json = os = sys = emit = channel = cell = count = loop = space = 1": undefined,
      "import no_such_module_anywhere": "ModuleNotFoundError",
      "del os, sys, json, requests, emit": undefined,
      "import sys; sys.exit(3)": "SystemExit",
      "raise SystemExit": "SystemExit",
      "raise KeyboardInterrupt": "KeyboardInterrupt",
      "class Mute(Exception):\n  def __str__(self): raise ValueError\nraise Mute": "Mute",
      "class Odd(str):\n  def __len__(self): raise ValueError\nclass Told(Exception):\n  def __str__(self): return Odd('x')\nraise Told":
        "Told",
      "class Mute:\n  def __repr__(self): raise ValueError('mute')\nMute()": "ValueError",
      "import sys; sys.stdout.close(); sys.stderr.close(); sys.stdin.close()": undefined,
      "import os; os.close(1); os.close(2)": undefined,
      "import os, sys; sys.stdout.flush(); turned = os.dup(1); os.dup2(os.open('/dev/null', 1), 1)":
        undefined,
      "os.dup2(turned, 1)": undefined,
      "import io; turned = sys.stdout; sys.stdout = io.StringIO()": undefined,
      "sys.stdout = turned": undefined,
      "import os; os.closerange(3, 64)": undefined,
      "import json, builtins; json.dumps = json.loads = None; was = repr; builtins.repr = None": undefined,
      "builtins.repr = was": undefined,
      "import os; os.chdir('/')": undefined,
      "import os\nif os.fork() == 0: raise ValueError('a child')": undefined,
      "import sys; sys.argv.clear(); sys.modules.pop('json'); sys.modules.pop('__main__')": undefined,
    },
  },
  javascript: {
    keep: "const kept = 41",
    kept: "process.stdout.write('said'); kept + 1",
    cells: {
      "const emit = 1, cell = 2, count = 3, last = 4, fail = 5, repl = 6, formats = 7": undefined,
      "process.exit(3)": "Exit",
      "setTimeout(() => process.exit(0), 1); await new Promise(() => {})": "Exit",
      "JSON = null; JSON.parse": "TypeError",
      "globalThis.Promise = globalThis.Buffer = globalThis.setImmediate = undefined": undefined,
      "var was = console.log; console.log = () => { throw new Error('no') }": undefined,
      "console.log = was": undefined,
      "require('node:fs').readFileSync(0, 'utf8')": undefined,
      "process.stdin.destroy(); process.stdin.on('data', () => {})": undefined,
      "require('node:fs').closeSync(2)": undefined,
      "throw { get message() { throw 1 } }": "Error",
      "({ get a() { throw 1 }, [Symbol.for('nodejs.util.inspect.custom')]() { throw 2 } })": "Error",
      "throw null": "Error",
      "process.removeAllListeners('SIGINT'); Object.keys = undefined": undefined,
    },
  },
  bash: {
    keep: "kept=41; was() { echo $1; }",
    kept: "printf said; (exit $((kept + 1)))",
    cells: {
      "exec >/tmp/elsewhere 2>&1; echo x": undefined,
      "exec 1>&- 2>&- 0>&-": undefined,
      "exec 3</dev/null 4<&- 5>&- 6>&-": undefined,
      "set -euo pipefail": undefined,
      "set -x; true": undefined,
      "false; (exit 3)": "ExitCode",
      continue: undefined,
      "break; break": undefined,
      "return 2>/dev/null; true": undefined,
      "printf() { :; }; read() { :; }; eval() { :; }; unset -f printf read eval": undefined,
      "if true; then": "ExitCode",
      "cat <<E\nno end": undefined,
      "read x": "ExitCode",
      "PATH=/nowhere; IFS=x": undefined,
    },
  },
};

describe("cells and what runs them, apart", () => {
  const at = interpreting();

  const heard = ({ text, error, logs }: Execution) => ({
    value: text ?? error?.value,
    said: logs.stdout.join("").trim(),
  });

  it.each(Object.entries(UNKIND))("%s: a cell breaks itself at most", async (language, does) => {
    const run = (code: string) => at.sandbox.runCode(code, { language, timeoutMs: 20_000 });
    for (const [code, name] of Object.entries(does.cells)) {
      await run(does.keep.replace("const ", ""));
      const { error } = await run(code);
      expect(error?.name, `${code}\n${error?.traceback}`).toBe(name);
      // What is turned elsewhere on purpose stays so until it is turned back.
      const said = /turned =/.test(code) ? "" : "said";
      expect(heard(await run(does.kept)), code).toEqual({ value: "42", said });
    }
  });

  it("gives Python's cells a module of their own", async () => {
    const { sandbox } = at;
    const context = await sandbox.createCodeContext();
    const run = async (code: string) => (await sandbox.runCode(code, { context })).text;
    expect(await run("[name for name in dir() if not name.startswith('__')]")).toBe("[]");
    const code = `
import dataclasses, inspect, multiprocessing, pickle, sys
@dataclasses.dataclass
class Point:
    x: int
def square(n):
    return n * n
with multiprocessing.Pool(2) as pool:
    squares = pool.map(square, [2, 3])
(pickle.loads(pickle.dumps(Point(1))), squares, __name__, sys.modules[__name__].square is square, inspect.getsource(square))`;
    expect(await run(code)).toBe(
      "(Point(x=1), [4, 9], '__main__', True, 'def square(n):\\n    return n * n\\n')",
    );
    // A file of the same name as a module that the runner needs is not taken for it.
    await sandbox.files.write("ast.py", "raise ValueError('not this one')");
    await sandbox.restartCodeContext(context);
    expect(await run("1 + 1")).toBe("2");
    await sandbox.files.remove("ast.py");
  });

  it("hears threads that go on, and forgets an interrupt that came too late", async () => {
    const { sandbox } = at;
    const code = `
import os, signal, threading
gate = threading.Event()
def later():
    gate.wait(); print("from a thread")
thread = threading.Thread(target=later); thread.start()`;
    await sandbox.runCode(code);
    expect((await sandbox.runCode("gate.set(); thread.join()")).logs.stdout.join("")).toBe("from a thread\n");
    const pid = Number((await sandbox.runCode("os.getpid()")).text);
    await sandbox.commands.run(`kill -INT ${pid}`);
    expect((await sandbox.runCode("'heard'")).text).toBe("heard");
    expect((await sandbox.runCode("'heard again'")).text).toBe("heard again");
  });

  it("says how a context ended, and begins another one", async () => {
    const ends = {
      python: "import os; os._exit(3)",
      bash: "exit 3",
      js: "process.kill(process.pid, 'SIGKILL')",
    };
    for (const [language, code] of Object.entries(ends)) {
      const { error } = await at.sandbox.runCode(code, { language });
      expect(error, language).toMatchObject({
        name: "ContextEnded",
        value: expect.stringContaining(language === "js" ? "by " : "with status 3"),
      });
    }
    expect((await at.sandbox.runCode("1 + 1", { language: "python" })).text).toBe("2");
    expect((await at.sandbox.runCode("echo 2", { language: "bash" })).logs.stdout).toEqual(["2\n"]);
    expect((await at.sandbox.runCode("1 + 1", { language: "js" })).text).toBe("2");
  });

  it("interrupts a cell that waits or turns in circles, and keeps the names", async () => {
    const cells = {
      python: ["stayed = 1", "import asyncio\nawait asyncio.sleep(600)", "stayed"],
      js: ["var stayed = 1", "for (;;) {}", "stayed"],
      ts: ["var stayed: number = 1", "await new Promise(() => {})", "stayed"],
      bash: ["stayed=1", "sleep 600", "echo $stayed"],
    };
    for (const [language, [before = "", long = "", after = ""]] of Object.entries(cells)) {
      await at.sandbox.runCode(before, { language });
      await expect(at.sandbox.runCode(long, { language, timeoutMs: 2_000 })).rejects.toThrow();
      const { text, logs, error } = await at.sandbox.runCode(after, { language });
      expect(text ?? logs.stdout.join("").trim(), `${language} ${error?.value}`).toBe("1");
    }
  });

  it("interrupts a cell in the middle of what it says, and says the next one's whole", async () => {
    const floods = {
      python: ["while True: display('x' * 3_000_000)", "while True: print('x' * 3_000_000)"],
      js: ["for (;;) console.log('x'.repeat(3_000_000))", "for (;;) display('x'.repeat(3_000_000))"],
      bash: ["while :; do printf %03000000d 1; done"],
    };
    const after = { python: "'heard'", js: "'heard'", bash: "(exit 42)" };
    for (const [language, cells] of Object.entries(floods)) {
      for (const flood of cells) {
        await expect(at.sandbox.runCode(flood, { language, timeoutMs: 1_000 })).rejects.toThrow();
        for (let round = 0; round < 3; round += 1) {
          const { text, error } = await at.sandbox.runCode(after[language as "js"], { language });
          expect(text ?? error?.value, flood).toBe(language === "bash" ? "42" : "heard");
        }
      }
    }
  });

  it("restarts a context under a cell, and leaves no second runner", async () => {
    const { sandbox } = at;
    const context = await sandbox.createCodeContext();
    let next: Promise<Execution> | undefined;
    const long = await sandbox.runCode("print('begun'); import time; time.sleep(600)", {
      context,
      onStdout: async () => {
        await sandbox.restartCodeContext(context);
        next = sandbox.runCode("1 + 1", { context });
      },
    });
    expect(long.error?.name).toBe("ContextEnded");
    expect((await next)?.text).toBe("2");
    await sandbox.runCode("x = 1", { context });
    expect((await sandbox.runCode("x", { context })).text).toBe("1");
    const runners = (await sandbox.commands.list()).filter(({ args }) => args.at(-1)?.includes(context.id));
    expect(runners).toHaveLength(1);
  });
});
