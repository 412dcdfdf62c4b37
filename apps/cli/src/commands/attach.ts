import type { AttachBody, Attachment } from "@sandboxer/contract";
import { type Command, InvalidArgumentError } from "commander";
import { durationMs, list, reuse } from "../arguments.ts";
import { span, table } from "../table.ts";

interface Options {
  readonly fresh?: true;
  readonly reuse?: { readonly scope: string; readonly key: string };
  readonly profile?: string;
  readonly keep?: number;
  readonly key?: string;
  readonly name?: string;
  readonly conversation?: string;
  readonly readOnly?: true;
  readonly ownUser?: true;
  readonly rules?: string[];
  readonly secrets?: string[];
  readonly stayAwake?: true;
  readonly idempotencyKey?: string;
  readonly json?: true;
}

export function register(program: Command): void {
  program
    .command("attach")
    .description("let an agent or a conversation into a sandbox, with rights of its own there")
    .argument("[sandbox]", "its id or name; left out with --fresh or --reuse")
    .option("--fresh", "make one for it")
    .option("--reuse <scope:key>", "the living one of that label", reuse)
    .option("--profile <ref>", "what a fresh or shared one is to be")
    .option("--keep <time>", "how long a fresh one is kept after the last has left (default: 1h)", durationMs)
    .option("--key <id>", "whose use it is: the holder of that key, derived from this one")
    .option("--name <name>", "a name for it")
    .option("--conversation <id>", "the conversation that uses it")
    .option("--read-only", "it changes no file and reaches no port")
    .option("--own-user", "it acts as a user of its own, whose processes nobody else touches")
    .option("--rules <list>", "names it may reach, as in api.example.com", list)
    .option("--secrets <list>", "secrets put into its requests, by name", list)
    .option("--stay-awake", "do not put the sandbox to sleep when the last one leaves")
    .option("--idempotency-key <key>", "asked again with the same, there is still one")
    .option("--json", "print everything about it")
    .addHelpText("after", "\nExample:\n  $ sandboxer attach build --key key_… --read-only")
    .action(attach);
  program
    .command("attachments")
    .description("list who uses a sandbox")
    .argument("<sandbox>", "its id or name")
    .option("--json", "print everything")
    .action(ls);
  program
    .command("detach")
    .description("end an attachment; the last to leave puts the sandbox to sleep")
    .argument("<attachment>", "its id, as in att_…")
    .option("--json", "print everything about it")
    .action(detach);
}

function bodyOf(sandbox: string | undefined, options: Options): AttachBody {
  const { key, name, conversation, readOnly, ownUser, rules, secrets, stayAwake, profile, keep } = options;
  const shared = {
    ...(key && { keyId: key }),
    ...(name && { name }),
    ...(conversation && { conversation }),
    ...(readOnly && { access: "read-only" as const }),
    ...(ownUser && { user: "own" as const }),
    ...(rules && { rules }),
    ...(secrets && { secrets }),
    ...(stayAwake && { hibernate: false }),
  };
  const create = { ...(profile && { profile }) };
  if (options.fresh) return { mode: "fresh", create, ...(keep && { retentionMs: keep }), ...shared };
  if (options.reuse) return { mode: "shared", create: { ...create, reuse: options.reuse }, ...shared };
  if (sandbox !== undefined) return { mode: "chosen", sandbox, ...shared };
  throw new InvalidArgumentError("Name a sandbox, or say --fresh or --reuse.");
}

async function attach(sandbox: string | undefined, options: Options): Promise<void> {
  const body = bodyOf(sandbox, options);
  const { withClient } = await import("../connect.ts");
  const { idempotencyKey, json } = options;
  const once = idempotencyKey === undefined ? {} : { idempotencyKey };
  const given = await withClient(async (client) => {
    const { attachment, sandbox } = await client.attachments.attach(body, once);
    return { attachment, sandbox: sandbox.info };
  });
  say(json ? JSON.stringify(given) : given.attachment.id);
}

async function ls(sandbox: string, { json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const found = await withClient((client) => client.attachments.list(sandbox));
  const head = ["ID", "NAME", "PRINCIPAL", "CONVERSATION", "ACCESS", "UID", "SINCE", "STATE"];
  say(json ? JSON.stringify(found) : table(head, found.map(row)));
}

function row(one: Attachment): string[] {
  const { id, name = "", principalId, conversation = "", access, uid, createdAtMs, detachedAtMs } = one;
  const state = detachedAtMs !== undefined ? "left" : one.implicit ? "by use" : "attached";
  return [
    id,
    name,
    principalId,
    conversation,
    access,
    uid === undefined ? "" : String(uid),
    span(Date.now() - createdAtMs),
    state,
  ];
}

async function detach(attachment: string, { json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const detached = await withClient((client) => client.attachments.detach(attachment));
  say(json ? JSON.stringify(detached) : detached.id);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
  process.exit(0);
}
