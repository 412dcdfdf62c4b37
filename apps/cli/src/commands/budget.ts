import type { Budget } from "@sandboxer/contract";
import { dollars } from "@sandboxer/contract/dollars";
import type { Command } from "commander";
import { microUsd } from "../arguments.ts";

export function register(program: Command): void {
  const budget = program
    .command("budget")
    .description("show what may be spent, and set what the org may spend");
  budget
    .command("show", { isDefault: true })
    .description("the account this key's sandboxes draw on")
    .option("--json", "print it as JSON")
    .action(show);
  budget
    .command("set")
    .description("what the whole org may spend in all; the root key's alone")
    .argument("<usd>", "an amount such as 25.00, or none")
    .option("--org <name>", "a tenant, for the operator")
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer budget set 25.00")
    .action(set);
}

async function show(options: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  print(await withClient((client) => client.budget.get()), options);
}

async function set(usd: string, options: { org?: string; json?: true }): Promise<void> {
  const limit = usd === "none" ? null : microUsd(usd);
  const { withClient } = await import("../connect.ts");
  print(await withClient((client) => client.budget.set(limit, options.org)), options);
}

function print(budget: Budget, { json }: { json?: true }): void {
  const { accountId, limitMicroUsd, availableMicroUsd, heldMicroUsd, spentMicroUsd } = budget;
  const limit = limitMicroUsd === undefined ? "no limit" : `limit ${dollars(limitMicroUsd)}`;
  const left = availableMicroUsd === undefined ? "" : `, ${dollars(availableMicroUsd)} left`;
  const inKeys = (limitMicroUsd ?? 0) - (availableMicroUsd ?? 0) - heldMicroUsd - spentMicroUsd;
  const bound = limitMicroUsd === undefined || inKeys <= 0 ? "" : `, ${dollars(inKeys)} given to keys`;
  const used = `${dollars(heldMicroUsd)} held${bound}, ${dollars(spentMicroUsd)} spent`;
  const text = `${accountId}: ${limit}${left}, ${used}`;
  process.stdout.write(`${json ? JSON.stringify(budget) : text}\n`);
  process.exit(0);
}
