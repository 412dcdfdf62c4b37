import type { Secret, SecretBinding } from "@sandboxer/contract";
import type { Command } from "commander";
import { binding, sourceOf, writtenAs } from "../secret.ts";
import { adviseIfNone, span, table } from "../table.ts";

/** What stands for a source where the value is kept by the gateway itself. */
const VAULT = "vault:";

interface SetOptions {
  readonly to?: SecretBinding[];
  readonly from?: string;
  readonly as?: string;
  readonly json?: true;
}

interface Options {
  readonly json?: true;
}

export function register(program: Command): void {
  const secrets = program
    .command("secrets")
    .description("keep secrets that sandboxes use and never see, and say who may");
  secrets
    .command("set")
    .description("keep a secret, read from standard input, and say where it may be put in")
    .argument("<name>", "its name, as in ANTHROPIC_API_KEY")
    .requiredOption("--to <place>", "where it goes, as in 'api.example.com/v1/** header:x-api-key'", binding)
    .option("--from <ref>", "where it is kept instead: env:NAME, file:/path or 'command:program argument'")
    .option("--as <variable>", "the variable inside that holds its placeholder (default: its name)")
    .option("--json", "print everything about it")
    .addHelpText("after", EXAMPLE)
    .action(set);
  secrets
    .command("ls", { isDefault: true })
    .description("list those this key may use; never what they are")
    .option("--json", "print everything")
    .action(ls);
  for (const [verb, description] of [
    ["grant", "let the holder of a derived key use it"],
    ["revoke", "take it from the holder of a key and from all below"],
  ] as const) {
    secrets
      .command(verb)
      .description(description)
      .argument("<name>", "the secret")
      .argument("<key>", "the key's id, as in key_…")
      .option("--json", "print everything about it")
      .action((name: string, key: string, options: Options) => change(options, (of) => of[verb](name, key)));
  }
  secrets
    .command("rotate")
    .description(
      "put in another value from now on, read from standard input; elsewhere kept, it is read again",
    )
    .argument("<name>", "the secret")
    .option("--json", "print everything about it")
    .action(rotate);
  secrets
    .command("rm")
    .description("forget it; nothing is put in for it any more")
    .argument("<name>", "the secret")
    .option("--json", "print its name as JSON; give errors as JSON")
    .action(rm);
}

const EXAMPLE = `
Example:
  $ printf %s "$KEY" | sandboxer secrets set ANTHROPIC_API_KEY --to 'api.anthropic.com/v1/** header:x-api-key'
  $ sandboxer run --rules anthropic --secrets ANTHROPIC_API_KEY -- ./agent`;

type Secrets = import("@sandboxer/sdk").Secrets;

async function change({ json }: Options, work: (secrets: Secrets) => Promise<Secret>): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const secret = await withClient((client) => work(client.secrets));
  process.stdout.write(`${json ? JSON.stringify(secret) : secret.name}\n`);
  process.exit(0);
}

async function set(name: string, { to = [], from, as, json }: SetOptions): Promise<void> {
  const source = from === undefined ? { value: await readValue() } : sourceOf(from);
  const body = { ...source, bindings: to, ...(as !== undefined && { variable: as }) };
  await change({ ...(json && { json }) }, (secrets) => secrets.set(name, body));
}

async function rotate(name: string, options: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const known = (await withClient((client) => client.secrets.list())).find((one) => one.name === name);
  const isOurs = known === undefined || known.ref === VAULT;
  const value = isOurs ? { value: await readValue() } : {};
  await change(options, (secrets) => secrets.rotate(name, value));
}

/** Never an argument: those are in everybody's list of processes, and in the shell's history. */
async function readValue(): Promise<string> {
  const { readSecret } = await import("../secret.ts");
  return readSecret();
}

async function ls({ json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const found = await withClient((client) => client.secrets.list());
  const head = ["NAME", "FROM", "GOES TO", "GRANTED TO", "AGE"];
  process.stdout.write(`${json ? JSON.stringify(found) : table(head, found.map(row))}\n`);
  if (!json) adviseIfNone(found, "`sandboxer secrets set` keeps one.");
  process.exit(0);
}

function row({ name, ref, bindings, grants, rotatedAtMs }: Secret): string[] {
  const keys = grants.map(({ keyId }) => keyId);
  const places = bindings.map(writtenAs);
  return [
    name,
    ref === VAULT ? "kept here" : ref,
    places.join(", "),
    keys.join(", "),
    span(Date.now() - rotatedAtMs),
  ];
}

async function rm(name: string, { json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  await withClient((client) => client.secrets.delete(name));
  process.stdout.write(`${json ? JSON.stringify({ name }) : name}\n`);
  process.exit(0);
}
