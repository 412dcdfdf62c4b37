import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Client, createClient } from "@sandboxer/sdk";
import { endProcessesOf } from "../../tests/capabilities/processes.ts";
import type { Place } from "../subject.ts";

const SANDBOXER = fileURLToPath(new URL("../../apps/cli/bin/sandboxer", import.meta.url));

const MOST_KEPT = 10_000;
const LIVING = ["provisioning", "running", "paused"] as const;

export interface GatewayProcess {
  readonly client: Client;
  readonly url: string;
  readonly apiKey: string;
  /** From its start until it has said that it is ready. */
  readonly readyMs: number;
  residentMiB(): number;
  close(): Promise<void>;
}

/** `sandboxer up` as users have it: in a process of its own. */
export async function openGatewayProcess(
  { scratch }: Place,
  variables: Readonly<Record<string, string>> = {},
): Promise<GatewayProcess> {
  const home = join(scratch, "home");
  const begun = performance.now();
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;
  const up = spawn(SANDBOXER, ["up", "--port", "0", "--json", "--log-file", join(scratch, "log")], {
    env: {
      ...process.env,
      PATH,
      ...variables,
      SANDBOXER_HOME: home,
      XDG_CACHE_HOME: join(scratch, "cache"),
    },
    stdio: ["ignore", "pipe", "pipe"],
    // Ctrl-C at the terminal is the bench's: a gateway that heard it too would leave its sandboxes alive.
    detached: true,
  });
  try {
    const line = await firstLineOf(up);
    const readyMs = performance.now() - begun;
    const { url, apiKey } = JSON.parse(line) as { url: string; apiKey: string };
    const client = createClient({ url, apiKey });
    return {
      client,
      url,
      apiKey,
      readyMs,
      residentMiB: () =>
        Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${up.pid}/status`, "utf8"))?.[1]) / 1024,
      async close() {
        try {
          for await (const sandbox of client.sandboxes.all({ states: LIVING })) await sandbox.destroy();
        } finally {
          await end(up);
          endProcessesOf(join(home, "engine"));
        }
      },
    };
  } catch (error) {
    await end(up);
    throw error;
  }
}

/** What it says once it is ready; one that ends before is told of with what it said instead. */
async function firstLineOf(child: ChildProcessByStdio<null, Readable, Readable>): Promise<string> {
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    process.stderr.write(text);
    if (complaint.length < MOST_KEPT) complaint += text;
  });
  const over = once(child, "close").then(([code, signal]) => {
    throw new Error(`the gateway ended with ${code ?? signal} before it was ready: ${complaint.trim()}`);
  });
  const line = once(createInterface({ input: child.stdout }), "line");
  return (await Promise.race([line, over]))[0];
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}
