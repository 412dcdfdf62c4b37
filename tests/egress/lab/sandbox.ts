import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CreateBody, ExecResult, GuardedNetworkInput } from "@sandboxer/contract";
import { type Gateway, type Log, openGateway, silent } from "@sandboxer/gateway";
import { type Client, createClient, type Sandbox } from "@sandboxer/sdk";
import { endProcessesOf } from "../../capabilities/processes.ts";
import { type Lab, openLab } from "./lab.ts";

/** A gateway whose guard looks out on the lab. */
export interface Bench {
  readonly lab: Lab;
  readonly client: Client;
  readonly home: string;
  readonly gateway: Gateway;
  /** Another gateway of the same home, once the first is closed. */
  reopen(): Promise<Client>;
  sandbox(network: Omit<GuardedNetworkInput, "egress">, more?: CreateBody): Promise<Sandbox>;
  close(): Promise<void>;
}

export interface BenchOptions {
  readonly log?: Log;
  readonly askPatienceMs?: number;
  /** As the operator writes it, beside the gateway's other files. */
  readonly config?: object;
  /** For clients that come over a socket; nobody listens, unless said. */
  readonly listen?: { readonly host: string; readonly port: number };
}

export async function openBench(
  environment: Record<string, string> = {},
  { log = silent, listen, config, ...options }: BenchOptions = {},
): Promise<Bench> {
  Object.assign(process.env, environment);
  const home = await mkdtemp(join(tmpdir(), "sandboxer-egress-"));
  if (config) await writeFile(join(home, "config.yaml"), JSON.stringify(config));
  const lab = await openLab();
  const { ca } = await lab.look();
  const caFile = join(home, "lab.pem");
  await writeFile(caFile, ca);
  const guard = { prefix: lab.prefix, dns: lab.dns, caFile };
  const open = async () => {
    const opened = await openGateway({ home, listen: listen ?? false, log, guard, ...options });
    const { apiKey, fetch } = opened;
    return { gateway: opened, client: createClient({ url: "http://localhost", apiKey, fetch }) };
  };
  const first = await open();
  const { client } = first;
  let { gateway } = first;
  return {
    lab,
    client,
    home,
    get gateway() {
      return gateway;
    },
    async reopen() {
      const next = await open();
      gateway = next.gateway;
      return next.client;
    },
    async sandbox(network, more = {}) {
      const sandbox = await client.sandboxes.create({ ...more, network: { egress: "guarded", ...network } });
      await sandbox.files.write("/home/user/lab.pem", [new TextEncoder().encode(ca)]);
      return sandbox;
    },
    async close() {
      const owner = await gateway.core.authenticate(gateway.apiKey);
      const { sandboxes } = await gateway.core.list(owner);
      for (const { id } of sandboxes) await gateway.core.destroy(owner, id).catch(() => {});
      await gateway.close();
      lab.close();
      endProcessesOf(home);
      await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

/** `curl` as anybody would type it, trusting the lab's servers. */
export function curl(sandbox: Sandbox, ...args: string[]): Promise<ExecResult> {
  const usual = ["--silent", "--show-error", "--max-time", "60", "--cacert", "/home/user/lab.pem"];
  return sandbox.run(["curl", ...usual, ...args], { timeoutMs: 90_000 });
}

interface Probed {
  readonly got?: string;
  /** Whether the other side ended it. */
  readonly closed?: boolean;
  readonly error?: string;
  readonly errno?: number;
  readonly seconds?: number;
}

/** What a program gets that asks the kernel itself. */
export async function probe(
  sandbox: Sandbox,
  order: Record<string, unknown>,
  user?: string,
): Promise<Probed[]> {
  const script = await readFile(new URL("probe.py", import.meta.url));
  await sandbox.files.write("/home/user/probe.py", [script]);
  await sandbox.files.write("/home/user/order.json", [new TextEncoder().encode(JSON.stringify(order))]);
  const { stdout, stderr } = await sandbox.run(["python3", "/home/user/probe.py", "/home/user/order.json"], {
    timeoutMs: 100_000,
    limitBytes: 8_000_000,
    ...(user && { user }),
  });
  if (stdout.length === 0) throw new Error(text(stderr));
  return JSON.parse(text(stdout));
}

interface Talk {
  readonly host: string;
  readonly port: number;
  readonly pieces: readonly string[];
  readonly wait?: number;
  /** The last answer is heard to its end. */
  readonly whole?: boolean;
}

interface Heard {
  readonly heard: string[];
  readonly error?: string;
}

/** Several conversations in any bytes, one after the other. */
export async function converse(sandbox: Sandbox, all: readonly Talk[]): Promise<Heard[]> {
  return (await probe(sandbox, { op: "say", all })) as unknown as Heard[];
}

export const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
