import type { CreateBody, IsolationClass } from "@sandboxer/contract";
import { dollars } from "@sandboxer/contract/dollars";
import type { Command } from "commander";
import { durationMs, list, microUsd } from "../arguments.ts";
import { table } from "../table.ts";

interface Options {
  readonly profile?: string;
  readonly isolation?: IsolationClass;
  readonly extensions?: string[];
  readonly policy?: NonNullable<CreateBody["routing"]>["policy"];
  readonly maxPrice?: number;
  readonly ttl?: number;
  readonly json?: true;
}

export function register(program: Command): void {
  program
    .command("route")
    .description("look at routes without taking one")
    .command("explain", { isDefault: true })
    .description("say where a create would go, and why nowhere else; starts nothing")
    .option("--profile <ref>", "as in python or python@2")
    .option("--isolation <class>", "the least isolation")
    .option("--extensions <list>", "the only ones to consider", list)
    .option("--policy <policy>", "prefer-self-hosted, lowest-cost or explicit")
    .option("--max-price <usd>", "the most an hour may cost", microUsd)
    .option("--ttl <time>", "how long it would live", durationMs)
    .option("--json", "print the plan as JSON")
    .addHelpText(
      "after",
      "\nExample:\n  $ sandboxer route explain --isolation container --policy lowest-cost",
    )
    .action(explain);
}

async function explain({
  profile,
  isolation,
  extensions,
  policy,
  maxPrice,
  ttl,
  json,
}: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { ERRORS } = await import("@sandboxer/contract");
  const routing = {
    ...(policy && { policy }),
    ...(maxPrice !== undefined && { maximumMicroUsdPerHour: maxPrice }),
  };
  const body: CreateBody = {
    ...(profile !== undefined && { profile }),
    ...(isolation && { isolation }),
    ...(extensions && { extensions }),
    ...(ttl && { ttlMs: ttl }),
    ...(Object.keys(routing).length > 0 && { routing }),
  };
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
