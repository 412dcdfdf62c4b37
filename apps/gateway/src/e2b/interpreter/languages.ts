import { randomUUID } from "node:crypto";
import { stripTypeScriptTypes } from "node:module";
import { SandboxerError } from "@sandboxer/contract";
import { bashRunner, WITH_INPUT } from "./bash-runner.ts";
import { javaRunner, WITH_SOURCE } from "./java-runner.ts";
import { JAVASCRIPT_RUNNER, WITH_CHANNEL } from "./javascript-runner.ts";
import { perlRunner } from "./perl-runner.ts";
import { PYTHON_RUNNER } from "./python-runner.ts";
import { rRunner } from "./r-runner.ts";
import { rubyRunner } from "./ruby-runner.ts";
import { marked, type Translator, telling } from "./translate.ts";

/** How cells of one language are run: what to start, and how to speak with it. */
export interface Language {
  readonly name: string;
  /** Without it there is nobody to run them. */
  readonly program: string;
  /** A fresh one each time: a mark is for one run only, and given where that run is found again. */
  start(mark?: string): Speech;
  /** A cell that says this word. */
  saying(word: string): string;
}

export interface Speech {
  readonly argv: readonly string[];
  /** One cell as the runner wants to hear it. */
  say(code: string, env: Readonly<Record<string, string>>): string;
  /** What the runner says, as E2B's clients want to hear it. */
  readonly hear: Translator;
  /** By which the end of a cell is told, where the runner has no better way. */
  readonly mark?: string;
}

/** Two letters that JSON leaves as they are end a line for some readers: runners of an older gateway too. */
function asJson(code: string, env: Readonly<Record<string, string>>): string {
  const told = JSON.stringify({ code, env });
  return `${told.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")}\n`;
}

const python: Language = {
  name: "python",
  program: "python3",
  start: () => ({ argv: PYTHON_RUNNER, say: asJson, hear: telling() }),
  saying: (word) => `print(${JSON.stringify(word)})`,
};

const javascript: Language = {
  name: "javascript",
  program: "node",
  start: (mark = randomUUID()) => ({
    argv: [...WITH_CHANNEL, "node", "-e", JAVASCRIPT_RUNNER],
    say: asJson,
    hear: telling(mark),
    mark,
  }),
  saying: (word) => `console.log(${JSON.stringify(word)})`,
};

const typescript: Language = {
  name: "typescript",
  program: "node",
  start: (mark) => ({ ...javascript.start(mark), say: (code, env) => asJson(withoutTypes(code), env) }),
  saying: javascript.saying,
};

const bash: Language = {
  name: "bash",
  program: "bash",
  start(mark = randomUUID()) {
    return { argv: [...WITH_INPUT, bashRunner(mark)], say: asLine, hear: marked(mark), mark };
  },
  saying: (word) => `echo ${word}`,
};

/** One that hears cells in lines of hexadecimal and tells their end by a mark. */
function hearing(
  facts: Pick<Language, "name" | "program" | "saying">,
  argvOf: (mark: string) => readonly string[],
): Language {
  return {
    ...facts,
    start: (mark = randomUUID()) => ({ argv: argvOf(mark), say: inHex, hear: marked(mark), mark }),
  };
}

const perl = hearing({ name: "perl", program: "perl", saying: (word) => `print "${word}\\n";` }, (mark) => [
  "perl",
  "-e",
  perlRunner(mark),
]);

const ruby = hearing({ name: "ruby", program: "ruby", saying: (word) => `puts "${word}"` }, (mark) => [
  "ruby",
  "-e",
  rubyRunner(mark),
]);

const r = hearing(
  { name: "r", program: "Rscript", saying: (word) => `cat("${word}\\n")` },
  // Without a language of its own R takes no letter beyond ASCII for one.
  (mark) => ["/usr/bin/env", "LC_ALL=C.UTF-8", "Rscript", "--vanilla", "-e", rRunner(mark)],
);

const java = hearing(
  { name: "java", program: "jshell", saying: (word) => `System.out.println("${word}");` },
  (mark) => [...WITH_SOURCE, javaRunner(mark)],
);

const LANGUAGES: Readonly<Record<string, Language>> = {
  python,
  python3: python,
  javascript,
  js: javascript,
  typescript,
  ts: typescript,
  bash,
  perl,
  ruby,
  r,
  java,
};

export function languageOf(given: string): Language {
  const name = given.toLowerCase();
  const language = Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name] : undefined;
  if (language) return language;
  throw new SandboxerError("invalid_request", `language '${name.slice(0, 40)}' is not there`);
}

/** A cell with broken types is run as it is: the runner says what is wrong with it. */
function withoutTypes(code: string): string {
  try {
    return stripTypeScriptTypes(code, { mode: "transform" });
  } catch {
    return code;
  }
}

/** Variables last for one cell; `__after` is evaluated behind it, however it ends. */
function asLine(code: string, env: Readonly<Record<string, string>>): string {
  const names = Object.keys(env).filter((name) => /^[A-Za-z_]\w*$/.test(name));
  const before = names.map((name) => `\${${name}+export ${name}=\${${name}@Q};}`);
  const after = names.map((name, at) => `unset ${name};${before[at]}`).join("");
  const set = names.map((name) => `export ${name}=${quoted(env[name] ?? "")};`).join("");
  const told = names.length > 0 ? `__after="${after}";${set}` : "";
  return `${Buffer.from(`${told}${code}`).toString("base64")}\n`;
}

function inHex(code: string, env: Readonly<Record<string, string>>): string {
  const hex = (text: string) => Buffer.from(text).toString("hex");
  const given = Object.entries(env).map(([name, value]) => `${hex(name)}=${hex(value)}`);
  return `${[hex(code), ...given].join(" ")}\n`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
