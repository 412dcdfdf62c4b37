import type { Approval, ApprovalState } from "@sandboxer/contract";
import type { Command } from "commander";
import { inWords } from "../approval.ts";
import { adviseIfNone, span, table } from "../table.ts";

interface Options {
  readonly all?: true;
  readonly forSandbox?: true;
  readonly json?: true;
}

export function register(program: Command): void {
  const approvals = program
    .command("approvals")
    .description("decide what waits for your word: connections, operations and elevations");
  approvals
    .command("ls", { isDefault: true })
    .description("list what waits")
    .option("--all", "also what was decided or ran out")
    .option("--json", "print everything")
    .action(ls);
  approvals
    .command("show")
    .description("show exactly what is asked, by whom, and until when")
    .argument("<approval>", "its id, as in apr_…")
    .option("--json", "print everything")
    .action(show);
  approvals
    .command("approve")
    .description("say yes, once")
    .argument("<approval>", "its id")
    .option("--for-sandbox", "and allow the same in that sandbox from now on")
    .option("--json", "print everything about it")
    .action((id: string, options: Options) =>
      decide(options, (of) => of.approve(id, options.forSandbox ? "sandbox" : "once")),
    );
  approvals
    .command("deny")
    .description("say no")
    .argument("<approval>", "its id")
    .option("--json", "print everything about it")
    .action((id: string, options: Options) => decide(options, (of) => of.deny(id)));
  approvals
    .command("watch")
    .description("wait for questions; on a terminal, answer each with a key")
    .option("--json", "print each as a line of JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer approvals watch")
    .action(watch);
}

async function ls({ all, json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const state: ApprovalState = "pending";
  const found = await withClient((client) => client.approvals.list(all ? {} : { state }));
  const head = ["ID", "SANDBOX", "ASKS FOR", "STATE", "LEFT"];
  process.stdout.write(`${json ? JSON.stringify(found) : table(head, found.map(row))}\n`);
  if (!json) adviseIfNone(found, "what a sandbox asks for with `create --ask` waits here.");
  process.exit(0);
}

function row(approval: Approval): string[] {
  const { id, sandboxId = "", state, expiresAtMs } = approval;
  const left = state === "pending" ? span(Math.max(0, expiresAtMs - Date.now())) : "";
  return [id, sandboxId, inWords(approval), state, left];
}

async function show(id: string, { json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const approval = await withClient((client) => client.approvals.get(id));
  process.stdout.write(`${JSON.stringify(approval, undefined, json ? 0 : 2)}\n`);
  process.exit(0);
}

type Approvals = import("@sandboxer/sdk").Approvals;

async function decide({ json }: Options, work: (of: Approvals) => Promise<Approval>): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const approval = await withClient((client) => work(client.approvals));
  process.stdout.write(`${json ? JSON.stringify(approval) : `${approval.id} ${approval.state}`}\n`);
  process.exit(0);
}

async function watch({ json }: Options): Promise<void> {
  const [{ withClient }, { watchApprovals }] = await Promise.all([
    import("../connect.ts"),
    import("../approval.ts"),
  ]);
  await withClient((client) => watchApprovals(client.approvals, json === true));
}
