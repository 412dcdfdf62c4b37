import { Argument, type Command } from "commander";
import { bash } from "../completion/bash.ts";
import { fish } from "../completion/fish.ts";
import { wordsOf } from "../completion/words.ts";
import { zsh } from "../completion/zsh.ts";

const SHELLS = { bash, fish, zsh };

export function register(program: Command): void {
  program
    .command("completion")
    .description("print what completes this program's words in a shell")
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(SHELLS)))
    .option("--json", "give errors as JSON")
    .addHelpText("after", EXAMPLES)
    .action(completion);
}

function completion(shell: keyof typeof SHELLS, _options: object, command: Command): void {
  process.stdout.write(SHELLS[shell](wordsOf(command.parent ?? command)));
  process.exit(0);
}

const EXAMPLES = `
Examples:
  $ source <(sandboxer completion bash)      in ~/.bashrc
  $ source <(sandboxer completion zsh)       in ~/.zshrc
  $ sandboxer completion fish | source       in ~/.config/fish/config.fish`;
