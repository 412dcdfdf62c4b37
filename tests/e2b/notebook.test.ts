import { expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { interpreting } from "./interpreting.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

describe("cells as they are written for a notebook", () => {
  const at = interpreting();
  const said = async (code: string, more = {}) => (await at.sandbox.runCode(code, more)).logs.stdout.join("");

  it("knows a shell's lines and the common magics, and leaves text alone", async () => {
    const { sandbox } = at;
    const text = ['text = """', "![no](command)", "%no magic", '"""', "x = (7", " % 4)", "(text, x)"].join(
      "\n",
    );
    expect((await sandbox.runCode(text)).text).toBe("('\\n![no](command)\\n%no magic\\n', 3)");
    expect(await said("!echo {x} $x '{print $1}' it\\'s \\\n  two")).toBe("3 3 {print $1} it's two\n");
    expect(await said("lines = !printf 'a\\nb'\nif x:\n    !false\nprint(lines, _exit_code)")).toBe(
      "['a', 'b'] 1\n",
    );
    const { stdout, stderr } = (await sandbox.runCode("%matplotlib inline\n%pip --version")).logs;
    expect([...stdout, ...stderr].join("")).toMatch(/pip|No module/);
    const timed = await sandbox.runCode("%time y = x + 1\ny");
    expect(timed.text).toBe("4");
    expect(timed.logs.stdout.join("")).toContain("Wall time: ");
    expect((await sandbox.runCode("%%time\nz = 5\nz")).text).toBe("5");
    expect(await said("%%bash\necho from bash")).toBe("from bash\n");
    await sandbox.runCode("%%writefile noted.txt\none\ntwo");
    expect(await sandbox.files.read("noted.txt")).toBe("one\ntwo");
    expect((await sandbox.runCode("%cd /tmp\n%pwd")).text).toBe("/tmp");
    const unknown = await sandbox.runCode("%nothing here");
    expect(unknown.error).toMatchObject({
      name: "UsageError",
      value: expect.stringContaining("%nothing not found"),
    });
    expect((await sandbox.runCode("x = = 1")).error?.name).toBe("SyntaxError");
  });

  it("takes a cell that is indented as a whole", async () => {
    expect(
      (await at.sandbox.runCode("\n    n = 1\n    for i in range(3):\n        n += i\n    n\n    ")).text,
    ).toBe("4");
  });

  it("shows what IPython's display shows, where there is no IPython", async () => {
    const code = `
from IPython.display import HTML, Image, JSON, Markdown, display
display(HTML("<b>it</b>"), Markdown("# it"))
display({"text/latex": "x", "application/x-own": {"a": 1}}, raw=True)
open("dot.png", "wb").write(b"\\x89PNG")
Image("dot.png")`;
    const { results, error } = await at.sandbox.runCode(code);
    expect(error).toBeUndefined();
    expect(results.map((one) => one.formats())).toEqual([
      ["html"],
      ["markdown"],
      ["latex", "application/x-own"],
      ["png"],
    ]);
    expect(results.map(({ raw }) => (raw as { extra?: object }).extra)[2]).toEqual({
      "application/x-own": { a: 1 },
    });
    expect(results[3]).toMatchObject({ isMainResult: true, png: "iVBORw==" });
  });

  it("gives lists and dicts as JSON too, with numbers that JSON does not know", async () => {
    const { results, logs } = await at.sandbox.runCode(
      "{'a': [1, float('nan'), float('-inf')], 2: {'b': None}}",
    );
    expect(logs).toEqual({ stdout: [], stderr: [] });
    expect(results[0]).toMatchObject({
      json: { a: [1, null, null], 2: { b: null } },
      text: expect.stringContaining("nan"),
    });
    const shown = "class Shown:\n  def _repr_json_(self): return {'n': float('inf')}\nShown()";
    expect((await at.sandbox.runCode(shown)).results[0]?.json).toEqual({ n: null });
    expect((await at.sandbox.runCode("[object]")).results[0]).toMatchObject({
      text: "[<class 'object'>]",
      json: undefined,
    });
    const odd = await at.sandbox.runCode("import unittest.mock; unittest.mock.MagicMock()");
    expect(odd.results[0]?.formats()).toEqual([]);
  });

  it("tells a number as Python has it, for a client in which 2.0 is another one than 2", async () => {
    const answer = await fetch(`${at.door.url}/execute`, {
      method: "POST",
      headers: { "E2b-Sandbox-Id": at.sandbox.sandboxId, "E2b-Sandbox-Port": "49999" },
      body: JSON.stringify({ code: "[2.0, 2, 'ö']" }),
    });
    expect(await answer.text()).toContain('"json": [2.0, 2, "\\u00f6"]');
  });

  it("carries long texts and letters of every kind whole, and says what is too long", async () => {
    const { sandbox } = at;
    expect((await sandbox.runCode("'ä€😀' * 200_000")).text).toBe("ä€😀".repeat(200_000));
    expect(await said("print('ä€😀' * 200_000, end='')")).toBe("ä€😀".repeat(200_000));
    expect(await said("process.stdout.write('ä€😀'.repeat(200_000))", { language: "js" })).toBe(
      "ä€😀".repeat(200_000),
    );
    const long = await sandbox.runCode("'x' * (4 << 20)");
    expect(long.text?.length).toBe(4 << 20);
    const { error, results } = await sandbox.runCode("'x' * (60 << 20)");
    expect(results).toEqual([]);
    expect(error).toMatchObject({ name: "ValueError", value: expect.stringContaining("60 MiB") });
  });

  it("hears what a cell's children say before the cell's end", async () => {
    const code = "require('child_process').execSync('seq 1 5000', { stdio: 'inherit' }); 1";
    const numbers = Array.from({ length: 5_000 }, (_, at) => `${at + 1}\n`).join("");
    for (let round = 0; round < 5; round += 1) {
      expect(await said(code, { language: "js" })).toBe(numbers);
    }
  });

  it("imports modules in JavaScript and TypeScript, and leaves text alone", async () => {
    const { sandbox } = at;
    const text = "const text = `\nimport fs from 'fs'\n`; // import x from 'y'\ntext";
    expect((await sandbox.runCode(text, { language: "js" })).text).toBe("\nimport fs from 'fs'\n");
    const forms =
      "import * as path from 'node:path'\nimport os, {\n  EOL as end\n} from 'node:os';\nimport 'node:fs'";
    for (const language of ["js", "ts"]) {
      expect((await sandbox.runCode(forms, { language })).error).toBeUndefined();
      const used = await sandbox.runCode("path.basename('/a/b') + typeof os.cpus + end", { language });
      expect(used.text, language).toBe("bfunction\n");
    }
  });

  it("keeps a shell's own variables over those of one cell", async () => {
    const bash = { language: "bash" };
    await at.sandbox.runCode('export ONE="it\'s mine"', bash);
    expect(await said("echo $ONE $TWO", { ...bash, envs: { ONE: "given", TWO: "2" } })).toBe("given 2\n");
    expect(await said("echo $ONE [$TWO]", bash)).toBe("it's mine []\n");
    const { executionCount, error } = await at.sandbox.runCode("(exit 7)", bash);
    expect(executionCount).toBe(4);
    expect(error).toMatchObject({ value: "7" });
    const bad = await at.sandbox.runCode("1", { envs: { "NO=NAME": "x" } });
    expect(bad.error?.name).toBe("ValueError");
    expect((await at.sandbox.runCode("1 + 1")).text).toBe("2");
  });

  it("awaits, and does not go on with what was interrupted", async () => {
    const { sandbox } = at;
    await sandbox.runCode("import asyncio\nasync def late():\n  await asyncio.sleep(3)\n  print('late')");
    await expect(sandbox.runCode("await late()", { timeoutMs: 1_000 })).rejects.toThrow();
    expect(await said("await asyncio.sleep(4)")).toBe("");
    expect((await sandbox.runCode("asyncio.run(asyncio.sleep(0, 'ran'))")).text).toBe("ran");
    expect(
      (await sandbox.runCode("[n async for n in (i for i in [])] if False else await asyncio.sleep(0, 2)"))
        .text,
    ).toBe("2");
  });

  it("tells a failure with its name, its value and where it was", async () => {
    const { error } = await at.sandbox.runCode("def f(n):\n  return 1 / n\n\nf(0)");
    expect(error).toMatchObject({ name: "ZeroDivisionError", value: "division by zero" });
    expect(error?.traceback).toMatch(/^Traceback \(most recent call last\):\n {2}File "<cell \d+>", line 4/);
    expect(error?.traceback).toContain("return 1 / n");
    const broken = await at.sandbox.runCode("x = (1");
    expect(broken.error?.traceback).toMatch(/^ {2}File "<cell \d+>", line 1\n {4}x = \(1/);
  });

  it("tells the beginning of a failure that is longer than a line may be, and keeps the names", async () => {
    await at.sandbox.runCode("kept = 41");
    const long = await at.sandbox.runCode("raise ValueError('x' * 30_000_000)");
    expect(long.error).toMatchObject({ name: "ValueError", value: expect.stringMatching(/^x{1000}/) });
    expect(long.error?.value.length).toBeLessThan(1_100_000);
    expect(long.error?.traceback.length).toBeLessThan(1_100_000);
    const named = await at.sandbox.runCode("raise type('X' * 60_000_000, (Exception,), {})");
    expect(named.error?.name).toMatch(/^X{1000}/);
    expect((await at.sandbox.runCode("kept + 1")).text).toBe("42");
  });
});
