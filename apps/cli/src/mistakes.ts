import { SandboxerError } from "@sandboxer/contract";
import type { Command, CommanderError } from "commander";
import { foreignOption } from "./foreign-options.ts";
import { foreignWord } from "./foreign-words.ts";
import { nearest } from "./nearest.ts";

/** For who left out what a command cannot do without: more than its usage, where that says too little. */
const WHEN_MISSING: Readonly<Record<string, string>> = {
  run: "Name the command to run, as in: sandboxer run -- echo hello",
  exec: "Name both, as in: sandboxer exec build -- ls -la",
  kill: "Name both, as in: sandboxer kill build p1; a whole sandbox ends by `sandboxer rm`.",
  ps: "Name the sandbox whose processes to show; `sandboxer ls` lists the sandboxes.",
};

/** For who wrote down more than a command takes, and meant something by it. */
const WHEN_TOO_MANY: Readonly<Record<string, (words: readonly string[]) => string>> = {
  create: (words) => `A name has a word before it: sandboxer create --name ${plain(words)[0]}`,
  shell: (words) => {
    const [sandbox, ...command] = plain(words);
    return `One command is run by: sandboxer exec ${sandbox} -- ${command.join(" ")}`;
  },
};

const plain = (words: readonly string[]) => words.filter((word) => !word.startsWith("-"));

/** The command that the words name, as far as they name one, and what comes after. */
function reached(program: Command, args: readonly string[]): { at: Command; rest: readonly string[] } {
  let [at, rest] = [program, args];
  for (;;) {
    const next = at.commands.find((one) => one.name() === rest[0] || one.aliases().includes(rest[0] ?? ""));
    if (!next) return { at, rest };
    [at, rest] = [next, rest.slice(1)];
  }
}

/** Said before anything is parsed: a group that lists when it is alone would take any word for an argument. */
export function refuseUnknownWord(program: Command, args: readonly string[]): void {
  const { at, rest } = reached(program, args[0] === "help" ? args.slice(1) : args);
  const [word = "-"] = rest;
  if (
    word.startsWith("-") ||
    word === "help" ||
    at.commands.length === 0 ||
    at.registeredArguments.length > 0
  )
    return;
  const known = at.commands.map((one) => one.name());
  const here = nameOf(at);
  const foreign = foreignWord(at === program ? "" : at.name(), word, known);
  const meant = nearest(word, known);
  const hint = foreign
    ? `Here that is \`sandboxer ${foreign}\`.`
    : meant
      ? `Did you mean ${meant}?`
      : `\`${here} --help\` shows what there is.`;
  throw new SandboxerError("invalid_request", `unknown command '${word}'`, { hint });
}

/** What the parser found wrong, said as everything else is. */
export function asOurs(error: CommanderError, program: Command, args: readonly string[]): SandboxerError {
  const { at, rest } = reached(program, args);
  const text = error.message.replace(/^error: /, "").trim();
  const [, message = text, advice] = ADVISED.find((form) => form.test(text))?.exec(text) ?? [];
  return new SandboxerError("invalid_request", message.replace(/^command-argument value /, ""), {
    hint: advice ?? hintFor(error, at, rest),
  });
}

/** What is wrong, and then what to do instead: the ways in which the parser and our own checks say both. */
const ADVISED = [
  /^(.*?)\n\((Did you mean [^\n]*\?)\)$/s,
  /^(.* is invalid(?: for argument '[^']*')?)\. (.*)$/s,
];

function hintFor({ code, message }: CommanderError, at: Command, rest: readonly string[]): string {
  if (code === "commander.unknownOption") {
    const [, option = ""] = /'(.*)'/.exec(message) ?? [];
    const known = at.parent ? foreignOption(at.name(), option) : asOfTheCommand(at, option, rest);
    if (known) return known;
  }
  const usage = `${nameOf(at)} ${at.usage()}`;
  if (code === "commander.missingArgument") return WHEN_MISSING[at.name()] ?? `It goes: ${usage}`;
  if (code === "commander.excessArguments") return WHEN_TOO_MANY[at.name()]?.(rest) ?? `It goes: ${usage}`;
  return `\`${nameOf(at)} --help\` shows what there is.`;
}

/** Options stand behind the command that they are of. */
function asOfTheCommand(program: Command, option: string, rest: readonly string[]): string | undefined {
  const name = rest.find((word) => program.commands.some((one) => one.name() === word));
  return name && `It goes behind the command, as in: sandboxer ${name} ${option}`;
}

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}
