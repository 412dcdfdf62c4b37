import { Sandbox } from "@e2b/code-interpreter";
import { expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { interpreting } from "./interpreting.ts";

const { describe } = await requires("linux-userns", "boxd", "languages");

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

/** The same in each: a name that stays, a value, output on both streams, something thrown. */
const LANGUAGES = {
  perl: {
    names: "my $x = 20;\nsub twice { 2 * shift }",
    value: "$x + 1",
    says: 'print "größer\\n"; print STDERR "no\\n";',
    fails: 'die "bad"',
    error: { name: "Error", value: expect.stringContaining("bad at ") },
    variable: '$ENV{FOR_ONE} // "none"',
    long: "sleep 600",
  },
  ruby: {
    names: "x = 20\ndef twice(n) = 2 * n",
    value: "x + 1",
    says: 'puts "größer"; warn "no"',
    fails: 'raise ArgumentError, "bad"',
    error: { name: "ArgumentError", value: "bad" },
    variable: 'ENV["FOR_ONE"] || "none"',
    long: "sleep 600",
  },
  r: {
    names: "x <- 20; twice <- function(n) 2 * n",
    value: "x + 1",
    says: 'cat("größer\\n"); message("no")',
    fails: 'stop("bad")',
    error: { name: "simpleError", value: "bad" },
    variable: 'Sys.getenv("FOR_ONE", "none")',
    long: "Sys.sleep(600)",
  },
  java: {
    names: "int x = 20;\nint twice(int n) { return 2 * n; }",
    value: "x + 1",
    says: 'System.out.println("größer"); System.err.println("no");',
    fails: 'throw new IllegalStateException("bad");',
    error: { name: "java.lang.IllegalStateException", value: "bad" },
    variable: 'System.getenv().getOrDefault("FOR_ONE", "none")',
    long: "Thread.sleep(600_000);",
  },
} as const;

describe("more languages of E2B's code interpreter", () => {
  const at = interpreting();

  it.each(Object.entries(LANGUAGES))(
    "%s: names that stay, results, output, errors",
    async (language, does) => {
      const run = (code: string, more = {}) => at.sandbox.runCode(code, { language, ...more });
      expect(await run(does.names)).toMatchObject({ error: undefined, executionCount: 1 });
      const { text, error } = await run(does.value);
      expect(error).toBeUndefined();
      expect(text?.replace("[1] ", "")).toBe("21");
      const said = await run(does.says);
      expect(said.logs.stdout.join("")).toBe("größer\n");
      expect(said.logs.stderr.join("")).toBe("no\n");
      expect((await run(does.fails)).error).toMatchObject(does.error);
      // Names are there after a failure too.
      expect((await run(does.value)).text).toContain("21");
      expect((await run(does.variable, { envs: { FOR_ONE: "it's ö" } })).text).toContain("it's ö");
      expect((await run(does.variable)).text).toContain("none");
    },
  );

  it.each(Object.entries(LANGUAGES))(
    "%s: keeps its names when a cell is interrupted",
    async (language, does) => {
      await expect(at.sandbox.runCode(does.long, { language, timeoutMs: 4_000 })).rejects.toThrow();
      expect((await at.sandbox.runCode(does.value, { language })).text).toContain("21");
    },
  );

  it.each(Object.entries(LANGUAGES))("%s: is found again by the next gateway", async (language, does) => {
    await at.changeGateway();
    expect((await at.sandbox.runCode(does.value, { language })).text).toContain("21");
  });

  it("takes a name in any case, and what ends within a cell for its end", async () => {
    const context = await at.sandbox.createCodeContext({ language: "R" });
    expect((await at.sandbox.runCode("x <- 1\n(x)\nx * 3", { context })).text).toBe("[1] 3");
    expect((await at.sandbox.runCode('quit("no")', { context })).error?.name).toBe("ContextEnded");
    expect((await at.sandbox.runCode("1 +", { language: "java" })).error?.name).toBe("CompilationError");
    expect((await at.sandbox.runCode("{ a => [1, 2] }", { language: "perl" })).text).toContain("'a' => [");
  });

  it("has variables among Java's properties, and texts without marks around them, as E2B has", async () => {
    const java = { language: "java" };
    const property = 'System.getProperty("OF_ALL") + System.getProperty("FOR_ONE")';
    const sandbox = await Sandbox.create({ ...at.door.options, envs: { OF_ALL: "all" } });
    try {
      expect((await sandbox.runCode(property, { ...java, envs: { FOR_ONE: "one", OF_ALL: "1" } })).text).toBe(
        "1one",
      );
      expect((await sandbox.runCode(property, java)).text).toBe("allnull");
    } finally {
      await sandbox.kill();
    }
  });

  it.each(["perl", "ruby", "r", "java"] as const)(
    "%s: says that a result is too long to be told, and goes on",
    async (language) => {
      const run = (code: string) => at.sandbox.runCode(code, { language });
      const long = { perl: '"x" x 70_000_000', ruby: '"x" * 70_000_000', r: 'strrep("x", 7e7)' };
      const { error, text, logs } = await run({ ...long, java: '"x".repeat(70_000_000)' }[language]);
      const value = "a result of 66 MiB is more than the 48 MiB that are told";
      expect({ error, text }).toMatchObject({ error: { name: "ResultTooLong", value }, text: undefined });
      expect(logs.stdout.join("").length).toBe(0);
      expect((await run(LANGUAGES[language].names)).error).toBeUndefined();
      expect((await run(LANGUAGES[language].value)).text?.replace("[1] ", "")).toBe("21");
    },
  );

  it("says which program a sandbox lacks", async () => {
    const bare = await Sandbox.create({ ...at.door.options, envs: { PATH: "/nowhere" } });
    try {
      const programs = {
        python: "python3",
        js: "node",
        perl: "perl",
        ruby: "ruby",
        r: "Rscript",
        java: "jshell",
      };
      for (const [language, program] of Object.entries(programs)) {
        const answer = await fetch(`${at.door.url}/execute`, {
          method: "POST",
          headers: { "E2b-Sandbox-Id": bare.sandboxId, "E2b-Sandbox-Port": "49999" },
          body: JSON.stringify({ code: "1", language }),
        });
        const body = { code: 400, message: expect.stringContaining(`: no ${program}`) };
        expect({ status: answer.status, body: await answer.json() }, language).toEqual({ status: 400, body });
      }
    } finally {
      await bare.kill();
    }
  });
});
