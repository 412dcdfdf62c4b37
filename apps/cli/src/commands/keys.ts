import type { CreateKeyBody, IsolationClass, Key, Role } from "@sandboxer/contract";
import { dollars } from "@sandboxer/contract/dollars";
import type { Command } from "commander";
import { durationMs, list, microUsd } from "../arguments.ts";
import { rolesInWords } from "../roles.ts";
import { span, table } from "../table.ts";

interface Options {
  readonly name?: string;
  readonly kind?: "user" | "service" | "agent";
  readonly team?: string;
  readonly role?: Role;
  readonly operations?: string[];
  readonly extensions?: string[];
  readonly profiles?: string[];
  readonly isolation?: IsolationClass;
  readonly maxTtl?: number;
  readonly budget?: number;
  readonly expires?: number;
  readonly network?: string[];
  readonly secrets?: string[];
  readonly capabilities?: string[];
  readonly identity?: string;
  readonly readOnly?: true;
  readonly idempotencyKey?: string;
  readonly json?: true;
}

export function register(program: Command): void {
  const keys = program.command("keys").description("derive keys for agents and people, list and revoke them");
  keys
    .command("create")
    .description("derive a key from this one, never wider; it is printed once")
    .option("--name <name>", "a name, for you")
    .option("--kind <kind>", "who will hold it: user, service or agent (default: agent)")
    .option("--team <team>", "the team it belongs to")
    .option("--role <role>", "viewer, operator or admin")
    .option("--operations <list>", "instead of a role: what it may do, as in sandbox.read,sandbox.exec", list)
    .option("--extensions <list>", "where its sandboxes may run", list)
    .option("--profiles <list>", "which profiles it may use", list)
    .option("--isolation <class>", "the least isolation it may use")
    .option("--max-ttl <time>", "the longest its sandboxes may live", durationMs)
    .option("--budget <usd>", "what it may spend in all, as in 2.50; held on this key's budget", microUsd)
    .option("--network <list>", "names it may reach at most, as in *.example.com", list)
    .option("--secrets <list>", "secrets it may use, by name", list)
    .option("--capabilities <list>", "what it may have of the network: none, packages, web-search, …", list)
    .option(
      "--identity <file>",
      "the Ed25519 public key of the agent that will hold it, which that one proves",
    )
    .option("--read-only", "it changes no file inside a sandbox")
    .option("--idempotency-key <key>", "asked again with the same, there is still one key")
    .option("--expires <time>", "when it ends, from now", durationMs)
    .option("--json", "print everything about it")
    .addHelpText(
      "after",
      `\nExample:\n  $ sandboxer keys create --name ci --role operator --max-ttl 30m --expires 7d\n\n${rolesInWords()}`,
    )
    .action(create);
  keys
    .command("ls", { isDefault: true })
    .description("list this key and its descendants")
    .option("--json", "print everything")
    .action(ls);
  keys
    .command("budget")
    .description("change what a derived key may spend in all; the difference is this key's")
    .argument("<key>", "its name or id, as `keys ls` shows them; the beginning of an id is enough")
    .argument("<usd>", "as in 2.50", microUsd)
    .option("--json", "print the account")
    .addHelpText("after", "\nExample:\n  $ sandboxer keys budget key_k3v9x0q2m7c1z8w4b6n5 5.00")
    .action(budget);
  keys
    .command("prove")
    .description("show that whoever holds this key is the agent that its maker meant")
    .argument("<file>", "the agent's Ed25519 private key, as `openssl genpkey -algorithm ed25519` writes it")
    .option("--json", "print who that is")
    .addHelpText("after", "\nExample:\n  $ sandboxer keys prove agent.key")
    .action(prove);
  keys
    .command("revoke")
    .description("end a key, everything derived from it, and what they are doing")
    .argument("<key>", "its name or id, as `keys ls` shows them; the beginning of an id is enough")
    .option("--json", "print what was revoked")
    .addHelpText("after", "\nExample:\n  $ sandboxer keys revoke ci")
    .action(revoke);
}

async function create(options: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { isolation, maxTtl, budget, expires, readOnly, identity, idempotencyKey, json, ...rest } = options;
  const body = {
    ...rest,
    ...(isolation && { minimumIsolation: isolation }),
    ...(maxTtl && { maximumTtlMs: maxTtl }),
    ...(budget !== undefined && { budgetMicroUsd: budget }),
    ...(readOnly && { access: "read-only" }),
    ...(identity !== undefined && { identity: await publicHalf(identity) }),
    ...(expires && { expiresAtMs: Date.now() + expires }),
  } as CreateKeyBody;
  const created = await withClient((client) =>
    client.keys.create(body, idempotencyKey === undefined ? {} : { idempotencyKey }),
  );
  process.stdout.write(`${json ? JSON.stringify(created) : created.apiKey}\n`);
  process.exit(0);
}

async function ls({ json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const keys = await withClient((client) => client.keys.list());
  const head = ["ID", "NAME", "KIND", "ROLE", "PARENT", "AGE", "STATE"];
  process.stdout.write(`${json ? JSON.stringify(keys) : table(head, keys.map(row))}\n`);
  process.exit(0);
}

function row(key: Key): string[] {
  const now = Date.now();
  const { id, name = "", role, parentId = "", principal, createdAtMs, expiresAtMs, revokedAtMs } = key;
  const left = expiresAtMs === undefined ? "valid" : `for ${span(expiresAtMs - now)}`;
  const state = revokedAtMs !== undefined ? "revoked" : (expiresAtMs ?? now) < now ? "expired" : left;
  return [
    id,
    name,
    principal.kind,
    role ?? (parentId ? "" : "root"),
    parentId,
    span(now - createdAtMs),
    state,
  ];
}

async function budget(keyId: string, limitMicroUsd: number, { json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const set = await withClient((client) => client.keys.setBudget(keyId, limitMicroUsd));
  const { availableMicroUsd = 0, heldMicroUsd, spentMicroUsd } = set;
  const parts = [`${dollars(availableMicroUsd)} left`, `${dollars(heldMicroUsd)} held`];
  const text = `${dollars(limitMicroUsd)}: ${[...parts, `${dollars(spentMicroUsd)} spent`].join(", ")}`;
  process.stdout.write(`${json ? JSON.stringify(set) : text}\n`);
  process.exit(0);
}

async function publicHalf(path: string): Promise<string> {
  const { identityIn } = await import("../identity.ts");
  return identityIn(path);
}

async function prove(path: string, { json }: Options): Promise<void> {
  const [{ withClient }, { signerIn }] = await Promise.all([
    import("../connect.ts"),
    import("../identity.ts"),
  ]);
  const sign = signerIn(path);
  const who = await withClient((client) => client.keys.prove(sign));
  process.stdout.write(`${json ? JSON.stringify(who) : (who.trust ?? "no agent")}\n`);
  process.exit(0);
}

async function revoke(keyId: string, { json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const revoked = await withClient((client) => client.keys.revoke(keyId));
  process.stdout.write(`${json ? JSON.stringify(revoked) : revoked.join("\n")}\n`);
  process.exit(0);
}
