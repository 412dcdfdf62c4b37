import type { Argument, Command } from "commander";

/** One command, or `parent child`, as far as a shell needs it to finish words. */
export interface Word {
  readonly name: string;
  readonly description: string;
  readonly options: readonly Flag[];
  /** The commands below it, and the words that its first argument can be. */
  readonly next: readonly Said[];
  /** Its first argument is a sandbox, whose names are asked for when they are needed. */
  readonly takesSandbox: boolean;
}

export interface Said {
  readonly word: string;
  readonly description: string;
}

interface Flag extends Said {
  readonly short: string | undefined;
  /** Whether the next word belongs to it, and which it can be where that is known. */
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

/** What prints the names of sandboxes, one a line. */
export const NAMES = "sandboxer ls --quiet 2>/dev/null";

/** The program's words, as they stand in its own help. The first is of the program itself. */
export function wordsOf(program: Command): Word[] {
  const below = program.commands.flatMap((command) => [
    wordOf(command),
    ...command.commands.map((inner) => wordOf(inner, command)),
  ]);
  const next = [...program.commands.map(saidOf), { word: "help", description: "show what there is" }];
  return [{ ...wordOf(program), name: "", next }, ...below];
}

function wordOf(command: Command, parent?: Command): Word {
  const argument: Argument | undefined = command.registeredArguments[0];
  const choices = (argument?.argChoices ?? []).map((word) => ({ word, description: "" }));
  return {
    name: parent ? `${parent.name()} ${command.name()}` : command.name(),
    description: command.description(),
    options: command.options.flatMap(({ long, short, description, required, optional, argChoices }) =>
      long
        ? { word: long, short, description, takesValue: required || optional, choices: argChoices ?? [] }
        : [],
    ),
    next: [...command.commands.map(saidOf), ...choices],
    takesSandbox: argument?.name() === "sandbox",
  };
}

function saidOf(command: Command): Said {
  return { word: command.name(), description: command.description() };
}

/** Names of two words: what stands second then belongs to the command. */
export function pairsOf(words: readonly Word[]): string[] {
  return words.flatMap(({ name }) => (name.includes(" ") ? name : []));
}

/** What can stand behind an option: `command --option`, short or long, and the words that it can be. */
export function valuesOf(words: readonly Word[]): { behind: string[]; choices: readonly string[] }[] {
  return words.flatMap(({ name, options }) =>
    options.flatMap(({ word, short, takesValue, choices }) =>
      takesValue
        ? { behind: [word, ...(short ? [short] : [])].map((flag) => `${name} ${flag}`), choices }
        : [],
    ),
  );
}
