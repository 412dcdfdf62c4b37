import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

const SHELLS = {
  bash: { ...(await requires("linux-userns", "boxd")), start: "bash --rcfile rc -i" },
  zsh: { ...(await requires("linux-userns", "boxd", "zsh")), start: "zsh -i" },
  fish: { ...(await requires("linux-userns", "boxd", "fish")), start: "fish -i" },
};

/** What is typed, with Tab as `→`, and the words that the shell then starts the program with. */
const LINES: readonly [typed: string, words: string[]][] = [
  ["ru→", ["run"]],
  ["run --timeo→", ["run", "--timeout"]],
  ["keys revo→", ["keys", "revoke"]],
  ["keys create --max-t→", ["keys", "create", "--max-ttl"]],
  ["images pru→", ["images", "prune"]],
  ["exec dem→", ["exec", "demo-box"]],
  ["rm demo-box oth→", ["rm", "demo-box", "other"]],
  ["inspect --json oth→", ["inspect", "--json", "other"]],
  ["create --isolation micr→", ["create", "--isolation", "microvm"]],
  ["create --rootfs arch→", ["create", "--rootfs", "archive.tar"]],
  [
    "create --isolation process --rootfs arch→",
    ["create", "--isolation", "process", "--rootfs", "archive.tar"],
  ],
  ["completion fi→", ["completion", "fish"]],
  ["images import arch→", ["images", "import", "archive.tar"]],
  ["exec demo-box -- cat arch→", ["exec", "demo-box", "--", "cat", "archive.tar"]],
  ["exec demo-box -- --timeo→", ["exec", "demo-box", "--", "--timeo"]],
];

describe("completion", () => {
  let home: string;
  let folder: string;
  let cli: ReturnType<typeof cliOf>;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-completion-"));
    folder = await mkdtemp(join(tmpdir(), "sandboxer-completion-user-"));
    cli = cliOf(home);
    for (const name of ["demo-box", "other"]) await cli.run(["create", "--name", name]);
    await mkdir(join(folder, "bin"));
    await writeFile(join(folder, "archive.tar"), "");
    // What the shell itself asks, it reads; what Enter starts is shown instead of done.
    const program = `#!/bin/sh
[ -t 1 ] || exec ${cli.commandLine([])} "$@"
printf 'words:'; printf '<%s>' "$@"; echo .
`;
    await writeFile(join(folder, "bin", "sandboxer"), program);
    await chmod(join(folder, "bin", "sandboxer"), 0o755);
    const prompt = "PS1='rea''dy> '\n";
    await writeFile(join(folder, "rc"), `${prompt}source <(sandboxer completion bash)\n`);
    await writeFile(join(folder, ".zshrc"), `${prompt}source <(sandboxer completion zsh)\n`);
    await mkdir(join(folder, ".config", "fish"), { recursive: true });
    // Where it is missing, fish goes on to fill it from every manual there is, long after its shell is over.
    await mkdir(join(folder, "fish", "generated_completions"), { recursive: true });
    const fish = "function fish_prompt; echo -n 'rea''dy> '; end\nsandboxer completion fish | source\n";
    await writeFile(join(folder, ".config", "fish", "config.fish"), fish);
  });
  afterAll(async () => {
    await cli.run(["rm", "--all"]);
    await removeEngine(join(home, "engine"), home);
    await rm(folder, { recursive: true, force: true });
  });

  /** Each line when the shell has asked for one, and what came of it. */
  async function typeInto(start: string, typed: readonly string[]): Promise<string[]> {
    const shell = spawn("script", ["-qec", start, "/dev/null"], {
      cwd: folder,
      env: {
        ...cli.environment,
        ...{ HOME: folder, ZDOTDIR: folder, XDG_CONFIG_HOME: join(folder, ".config"), XDG_DATA_HOME: folder },
        ...{ PATH: `${folder}/bin:${process.env.PATH}`, TERM: "xterm" },
      },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const timer = setTimeout(() => shell.kill("SIGKILL"), 100_000);
    const left = [...typed];
    const came: string[] = [];
    let text = "";
    shell.stdout.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      const shown = /words:(.*)\.\r?\n/.exec(text);
      if (shown) {
        came.push(shown[1] ?? "");
        text = text.slice(shown.index + shown[0].length);
      }
      if (came.length + left.length !== typed.length || !text.includes("ready> ")) return;
      text = "";
      const next = left.shift();
      shell.stdin.write(next === undefined ? "exit\r" : `sandboxer ${next.replace("→", "\t")}\r`);
    });
    await once(shell, "close");
    clearTimeout(timer);
    return came;
  }

  for (const [name, { it: itWith, start }] of Object.entries(SHELLS)) {
    itWith(`finishes commands, options, names, choices and files in ${name}`, async () => {
      const came = await typeInto(
        start,
        LINES.map(([typed]) => typed),
      );
      expect(came).toEqual(LINES.map(([, words]) => words.map((word) => `<${word}>`).join("")));
    });
  }
});
