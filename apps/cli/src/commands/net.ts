import { setTimeout as sleep } from "node:timers/promises";
import type { GuardedNetworkInput, NetworkCall, NetworkRule, SpentBudget } from "@sandboxer/contract";
import type { Sandbox } from "@sandboxer/sdk";
import type { Command } from "commander";
import { list } from "../arguments.ts";
import { allowance, type NetworkOptions, spellAllowance } from "../network.ts";
import { printable } from "../printable.ts";
import { adviseIfNone, table } from "../table.ts";

interface Options extends NetworkOptions {
  readonly follow?: true;
  readonly enforce?: true;
  readonly json?: true;
}

const LOOK_EVERY_MS = 300;

export function register(program: Command): void {
  program
    .command("net")
    .description("show what a sandbox tried to reach, and change what it may")
    .argument("<sandbox>", "its id or name")
    .option(
      "--allow <host>",
      "one more host it may reach, as in api.example.com or 'GET api.example.com/v1/**'",
      allowance,
    )
    .option(
      "--rules <sets>",
      "more named sets of hosts it may reach, as in anthropic; npm needs `packageHosts`",
      list,
    )
    .option("--learn", "let through what no rule allows, and write it down")
    .option("--enforce", "let through only what a rule allows")
    .option("-f, --follow", "go on showing")
    .option("--json", "print everything as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer net build --allow api.example.com")
    .action(net);
}

async function net(name: string, options: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  await withClient(async (client) => {
    const sandbox = await client.sandboxes.get(name);
    if (options.allow || options.rules || options.learn || options.enforce) await widen(sandbox, options);
    const { calls, proposed, budgets } = await sandbox.networkCalls();
    if (options.json) process.stdout.write(`${JSON.stringify({ calls, proposed, budgets })}\n`);
    else {
      const advice = `${used(budgets)}${offer(name, proposed)}${hopeless(calls)}`;
      process.stdout.write(`${table(HEAD, calls.map(row))}\n${advice}`);
      adviseIfNone(calls, "what it reaches from now on, or may not reach, is listed here.");
    }
    if (options.follow) await follow(sandbox, calls.at(-1)?.seq ?? 0);
  });
  process.exit(0);
}

async function widen(sandbox: Sandbox, { allow = [], rules = [], learn, enforce }: Options): Promise<void> {
  const { network } = sandbox.info.spec;
  if (network.egress === "deny") return void (await sandbox.changeNetwork({ egress: "guarded" }));
  const next: GuardedNetworkInput = {
    ...network,
    rules: [...network.rules, ...allow],
    sets: [...new Set([...network.sets, ...rules])],
    ...(learn && { mode: "audit" }),
    ...(enforce && { mode: "enforce" }),
  };
  await sandbox.changeNetwork(next);
}

async function follow(sandbox: Sandbox, from: number): Promise<void> {
  for (let after = from; ; await sleep(LOOK_EVERY_MS)) {
    const { calls } = await sandbox.networkCalls(after);
    for (const call of calls) process.stdout.write(`${row(call).join("  ")}\n`);
    after = calls.at(-1)?.seq ?? after;
  }
}

const HEAD = ["TIME", "VERDICT", "WHERE", "ADDRESS", "WHO", "REQUEST", "BINARY", "UP", "DOWN", "RULE", "WHY"];

/** Names and paths are the sandbox's words. */
function row(call: NetworkCall): string[] {
  const { atMs, verdict, host, address, port, attachmentId, method, path, binary, rule, reason } = call;
  return [
    new Date(atMs).toISOString().slice(11, 19),
    verdict,
    printable(`${host ?? address ?? "?"}:${port}`),
    printable(address ?? "-"),
    printable(attachmentId ?? "-"),
    printable(method ? `${method} ${path ?? ""}` : "-"),
    printable(binary ?? "-"),
    `${call.upBytes ?? "-"}`,
    `${call.downBytes ?? "-"}`,
    printable(rule ?? "-"),
    printable(reason ?? ""),
  ];
}

function used(budgets: readonly SpentBudget[]): string {
  const lines = budgets.map(({ rule, upBytes, downBytes, budget }) => {
    const way = (bytes: number, most: number | undefined) =>
      `${bytes}${most === undefined ? "" : ` of ${most}`}`;
    const [up, down] = [way(upBytes, budget.upBytes), way(downBytes, budget.downBytes)];
    return `  ${printable(rule ?? "everything")}: ${up} bytes up, ${down} down\n`;
  });
  return lines.length === 0 ? "" : `\nUsed of what there is:\n${lines.join("")}`;
}

function offer(name: string, proposed: readonly NetworkRule[]): string {
  const lines = proposed
    .flatMap(spellAllowance)
    .map((words) => `  sandboxer net ${name} --allow ${printable(words)}\n`);
  return lines.length === 0 ? "" : `\nTo allow what was not:\n${lines.join("")}`;
}

/** So that nobody tries rule after rule. */
function hopeless(calls: readonly NetworkCall[]): string {
  const reasons = calls
    .filter(({ cure, verdict }) => cure === "none" && verdict === "denied")
    .map(({ host, port, reason }) =>
      printable(`  ${host ?? "?"}:${port}: ${reason ?? "it cannot be dialled"}`),
    );
  const lines = [...new Set(reasons)].map((line) => `${line}\n`);
  return lines.length === 0 ? "" : `\nWhat no rule would have helped:\n${lines.join("")}`;
}
