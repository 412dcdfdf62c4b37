import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Client, createClient } from "@sandboxer/sdk";
import { expect } from "vitest";
import { cliOf, firstLine } from "../e2e/cli-process.ts";

const DOOMED = fileURLToPath(new URL("doomed-gateway.ts", import.meta.url));
const PATIENCE_MS = 90_000;

export interface GatewayProcess {
  readonly pid: number;
  readonly url: string;
  readonly client: Client;
  readonly apiKey: string;
  /** All it has printed. */
  said(): string;
  /** Sends the signal and waits for the end; answers with the exit code, `null` after a kill. */
  end(signal: NodeJS.Signals): Promise<number | null>;
  /** Waits for an end that somebody else brings. */
  ended(): Promise<number | null>;
}

/** The real program. By the time it answers it has put right what an earlier one left. */
export const startGateway = (home: string, settings: Readonly<Record<string, string>> = {}) =>
  ready(cliOf(home, settings).start(["up", "--port", "0", "--json"]));

/** The same gateway, killed as soon as it comes to that place. */
export function startDoomed(home: string, dieAt: string): Promise<GatewayProcess> {
  const argv = ["--disable-warning=ExperimentalWarning", "--expose-gc", DOOMED, home, dieAt];
  return ready(spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "ignore"] }));
}

export async function ready(child: ChildProcess): Promise<GatewayProcess> {
  let said = "";
  child.stdout?.on("data", (text) => {
    said += text;
  });
  const exited = once(child, "exit");
  exited.catch(() => {});
  const { url, apiKey } = JSON.parse(await firstLine(child)) as { url: string; apiKey: string };
  const ended = async (): Promise<number | null> => {
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    const [code] = await exited;
    clearTimeout(timer);
    return code;
  };
  return {
    pid: child.pid ?? 0,
    url,
    client: createClient({ url, apiKey }),
    apiKey,
    said: () => said,
    ended,
    end(signal) {
      child.kill(signal);
      return ended();
    },
  };
}

/** Leads a doomed gateway to its place, and sees that it really died there. */
export async function expectDeathAt(
  gateway: GatewayProcess,
  place: string,
  lead: Promise<unknown>,
): Promise<unknown> {
  const outcome = lead.catch((error) => error);
  await expect.poll(() => gateway.said(), { timeout: PATIENCE_MS }).toContain(`reached ${place}\n`);
  expect(await gateway.ended()).toBe(null);
  return outcome;
}
