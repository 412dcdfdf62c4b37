import { dollars } from "@sandboxer/contract/dollars";
import type { Command } from "commander";
import { addCreateOptions, type CreateOptions, createBodyOf } from "../create-options.ts";
import { TOPICS } from "../making-options.ts";
import { table } from "../table.ts";

interface Options extends CreateOptions {
  readonly json?: true;
}

export function register(program: Command): void {
  const command = program
    .command("route")
    .description("look at routes without taking one")
    .command("explain", { isDefault: true })
    .description("say where a create would go, and why nowhere else; starts nothing")
    .addHelpText(
      "after",
      "\nExample:\n  $ sandboxer route explain --isolation container --policy lowest-cost",
    )
    .action(explain);
  addCreateOptions(command).optionsGroup(TOPICS.most).option("--json", "print the plan as JSON");
}

async function explain({ json, ...options }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { ERRORS } = await import("@sandboxer/contract");
  const body = await createBodyOf(options);
  const plan = await withClient((client) => client.explain(body));
  const rows = [
    ...plan.candidates.map((one, at) => [
      `${at + 1}`,
      one.extensionId,
      `${one.hosting}, ${one.isolation}, ${dollars(one.microUsdPerHour)} an hour`,
    ]),
    ...plan.rejected.map((one) => ["no", one.extensionId, one.reason]),
  ];
  const { tier, isolation: least } = plan.trust ?? {};
  const trust = tier ? `trust: ${tier}, so isolation is at least ${least}\n` : "";
  const text = `policy: ${plan.policy}\n${trust}${table(["RANK", "EXTENSION", "WHY"], rows)}`;
  process.stdout.write(`${json ? JSON.stringify(plan) : text}\n`);
  process.exit(plan.candidates.length > 0 ? 0 : ERRORS.no_candidate.exitCode);
}
