import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const BIN = fileURLToPath(new URL("../../apps/cli/bin/sandboxer.cjs", import.meta.url));
const PATIENCE_MS = 90_000;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The real program, with a home of its own. Every wait is bounded; what it starts is ended by its pid. */
export function cliOf(home: string, settings: Readonly<Record<string, string>> = {}) {
  const { SANDBOXER_URL: _url, SANDBOXER_API_KEY: _key, ...rest } = process.env;
  const environment = { ...rest, SANDBOXER_HOME: home, NO_COLOR: "1", ...settings };

  const start = (args: readonly string[]): ChildProcess =>
    spawn(process.execPath, [BIN, ...args], { env: environment, stdio: ["pipe", "pipe", "pipe"] });

  async function run(args: readonly string[], input: string | Uint8Array = ""): Promise<Ended> {
    const child = start(args);
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (text: string) => {
        output[name] += text;
      });
    }
    child.stdin?.on("error", () => {}).end(input);
    const [code] = await once(child, "close");
    clearTimeout(timer);
    return { code, ...output };
  }

  /** For a shell to run. */
  const commandLine = (args: readonly string[]): string =>
    [process.execPath, BIN, ...args].map((part) => `'${part.replaceAll("'", "'\\''")}'`).join(" ");

  return { start, run, commandLine, environment };
}

/** The first line a program prints, or an error when it ends or takes too long. */
export async function firstLine(child: ChildProcess): Promise<string> {
  let text = "";
  const signal = AbortSignal.timeout(PATIENCE_MS);
  while (!text.includes("\n")) {
    const [chunk] = await Promise.race([
      once(child.stdout as NodeJS.ReadableStream, "data", { signal }),
      // Not at its exit: what it said before may still be on its way then.
      once(child, "close", { signal }).then(() => Promise.reject(new Error(`ended after: ${text}`))),
    ]);
    text += chunk;
  }
  return text.slice(0, text.indexOf("\n"));
}

export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const exited = once(child, "exit", { signal: AbortSignal.timeout(PATIENCE_MS) });
  child.kill(signal);
  const [code] = await exited;
  return code;
}
