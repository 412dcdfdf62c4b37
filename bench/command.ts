import { type SpawnOptions, spawn } from "node:child_process";
import { basename } from "node:path";

/** No peer takes this long; one that hangs must not take the others' numbers with it. */
const HUNG_AFTER_MS = 30_000;

/** Runs a command to a successful end. Nothing of it goes through a shell. */
export function command(file: string, argv: readonly string[], options: SpawnOptions = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, argv, {
      stdio: ["ignore", "ignore", "pipe"],
      timeout: HUNG_AFTER_MS,
      killSignal: "SIGKILL",
      ...options,
    });
    let complaint = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      complaint += text;
    });
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) resolve();
      else
        reject(new Error(`${basename(file)} ended with ${signal ?? code}: ${complaint.trim().slice(-300)}`));
    });
  });
}

/** For a command that leaves something running: that would hold our pipes open for ever. */
export function launch(file: string, argv: readonly string[], options: SpawnOptions = {}): Promise<void> {
  return command(file, argv, { ...options, stdio: "ignore" });
}
