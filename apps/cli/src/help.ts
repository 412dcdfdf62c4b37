import type { Command } from "commander";
import { durationMs, mebibytes } from "./arguments.ts";
import { EXAMPLES } from "./examples.ts";

/** How an option's value is written, by what reads it: a number alone must not be a riddle. */
const FORMS = new Map<unknown, string>([
  [durationMs, "as in 90s, 30m or 1h30m; a number alone is seconds"],
  [mebibytes, "as in 512M or 2G; a number alone is MiB"],
]);

/** Adds to every command below this one what all of its kind say the same way. */
export function completeHelp(command: Command, above: readonly string[] = []): void {
  for (const one of command.commands) {
    const path = [...above, one.name()];
    const examples = EXAMPLES[path.join(" ")];
    if (examples) one.addHelpText("after", () => `\n${titled(examples)}`);
    for (const option of one.options) {
      const form = FORMS.get(option.parseArg);
      if (form) option.description += ` — ${form}`;
    }
    completeHelp(one, path);
  }
}

function titled(examples: readonly string[]): string {
  const lines = examples.map((line) => `  $ ${line}`);
  return [examples.length > 1 ? "Examples:" : "Example:", ...lines].join("\n");
}
