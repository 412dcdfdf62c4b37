import { Argument, type Command } from "commander";
import { bash, fish, type Word, zsh } from "../completion.ts";

const SHELLS = { bash, fish, zsh };

export function register(program: Command): void {
  program
    .command("completion")
    .description("print what completes this program's words in a shell")
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(SHELLS)))
    .option("--json", "give errors as JSON")
    .addHelpText("after", "\nExample:\n  $ source <(sandboxer completion bash)")
    .action(completion);
}

function completion(shell: keyof typeof SHELLS, _options: object, command: Command): void {
  process.stdout.write(SHELLS[shell](wordsOf(command.parent ?? command)));
  process.exit(0);
}

/** The program's words, as they stand in its own help. */
export function wordsOf(program: Command): Word[] {
  return program.commands.flatMap((command) => [
    wordOf(command),
    ...command.commands.map((inner) => wordOf(inner, command)),
  ]);
}

function wordOf(command: Command, parent?: Command): Word {
  return {
    name: parent ? `${parent.name()} ${command.name()}` : command.name(),
    description: command.description(),
    options: command.options.flatMap(({ long }) => long ?? []),
    takesSandbox: command.registeredArguments[0]?.name() === "sandbox",
  };
}
