import type { Command } from "commander";

/**
 * Puts `--` before the command that is to run, where nobody wrote it: behind the sandbox's name come
 * options of ours, and behind the command's name only its own.
 */
export function separated(args: readonly string[], { options }: Command, before: number): string[] {
  let words = 0;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] as string;
    if (word === "--") break;
    if (!word.startsWith("-") || word === "-") {
      if (words++ === before) return args.toSpliced(at, 0, "--");
      continue;
    }
    const option = options.find(({ long, short }) => word === long || word === short);
    if (option?.required) at++;
  }
  return [...args];
}
