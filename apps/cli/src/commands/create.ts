import type { CreateBody, IsolationClass, Visibility } from "@sandboxer/contract";
import type { Command } from "commander";
import {
  durationMs,
  label,
  list,
  mebibytes,
  microUsd,
  processors,
  reuse,
  variable,
  volume,
  wholeNumber,
} from "../arguments.ts";
import { allowance, type NetworkOptions, networkOf } from "../network.ts";
import { waiting } from "../waiting.ts";
import { addWorkspaceOptions, type WorkspaceOptions, workspaceOf } from "../workspace.ts";

interface Options extends NetworkOptions, WorkspaceOptions {
  readonly secrets?: string[];
  readonly name?: string;
  readonly profile?: string;
  readonly ttl?: number;
  readonly env?: Record<string, string>;
  readonly label?: Record<string, string>;
  readonly image?: string;
  readonly rootfs?: string;
  readonly tools?: string[];
  readonly from?: string;
  readonly volume?: NonNullable<CreateBody["volumes"]>;
  readonly isolation?: IsolationClass;
  readonly visibility?: Visibility;
  readonly reuse?: NonNullable<CreateBody["reuse"]>;
  readonly extensions?: string[];
  readonly idle?: number;
  readonly persistent?: true;
  readonly checkpoint?: true;
  readonly atEnd?: "stop" | "destroy";
  readonly keep?: number;
  readonly retain?: number;
  readonly retainFor?: number;
  readonly audit?: true;
  readonly for?: "person" | "agent" | "automation";
  readonly project?: string;
  readonly task?: string;
  readonly policy?: NonNullable<CreateBody["routing"]>["policy"];
  readonly maxPrice?: number;
  readonly budget?: number;
  readonly idempotencyKey?: string;
  readonly cpus?: number;
  readonly memory?: number;
  readonly disk?: number;
  readonly requireLimits?: true;
  readonly root: boolean;
  readonly json?: true;
}

export function register(program: Command): void {
  const command = program
    .command("create")
    .description("create a sandbox and print its id")
    .option("--name <name>", "a name to use instead of the id")
    .option("--profile <ref>", "what it is to be, as in python or python@2; the rest then only narrows it")
    .option("--ttl <time>", "how long it lives (default: 1h)", durationMs)
    .option("-e, --env <NAME=value>", "a variable of every command in it", variable)
    .option("-l, --label <key=value>", "a label", label)
    .option("--image <ref>", "use this container image, as in debian:12")
    .option("--rootfs <path>", "use this folder or archive as the root instead of this machine's programs")
    .option("--tools <folder...>", "show this machine's folder too, read-only: a version manager's")
    .option("--allow <host>", "a host it may reach, as in api.example.com or tcp://db.dev:5432", allowance)
    .option(
      "--rules <sets>",
      "named sets of hosts it may reach, as in anthropic; npm needs `packageHosts`",
      list,
    )
    .option("--ask", "have somebody decide about what no rule allows: `sandboxer approvals`")
    .option("--secrets <list>", "secrets it uses without seeing them, by name", list)
    .option("--learn", "let through what no rule allows, and write it down")
    .option("--from <snapshot>", "start from a snapshot, by id or name")
    .option("--volume <name:path>", "show a volume there, as in cache:/home/user/.cache", volume)
    .option("--isolation <class>", "the least isolation: process, container, userspace-kernel or microvm")
    .option("--visibility <who>", "who else sees it: private, team or org (default: private)")
    .option(
      "--reuse <scope:key>",
      "the living one of that label, as in session:42, agent:build or shared:ci",
      reuse,
    )
    .option("--extensions <list>", "where it may run", list)
    .option(
      "--persistent",
      "can be stopped and started again: its files stay, also over a restart of this machine",
    )
    .option("--checkpoint", "the same, and each stop leaves a snapshot")
    .option(
      "--at-end <what>",
      "what becomes of a persistent one at the end of its time: stop (default) or destroy",
    )
    .option("--keep <time>", "how long it is kept while it is stopped (default: 30d)", durationMs)
    .option("--retain <count>", "how many of its snapshots without a name stay", wholeNumber)
    .option("--retain-for <time>", "how long each of them stays", durationMs)
    .option("--idle <time>", "end it when nobody has used it for so long", durationMs)
    .option("--audit", "write down what it uses, for `profiles suggest`")
    .option("--for <kind>", "who it is for: person, agent or automation (default: person)")
    .option("--project <project>", "the project it is for")
    .option("--task <task>", "the task it is for")
    .option("--policy <policy>", "how to choose: prefer-self-hosted, lowest-cost or explicit")
    .option("--max-price <usd>", "the most an hour of it may cost", microUsd)
    .option("--budget <usd>", "the most it may cost in all, as in 0.50", microUsd)
    .option("--idempotency-key <key>", "asked again with the same, there is still one sandbox")
    .option("--cpus <count>", "processors it may use (default: 2)", processors)
    .option("--memory <size>", "memory it may use (default: 2G)", mebibytes)
    .option("--disk <size>", "what it may write (default: 10G)", mebibytes)
    .option("--require-limits", "refuse where one of its limits cannot be held")
    .option("--no-root", "nothing in it is done as root, not by sudo either")
    .option("--json", "print everything about it")
    .addHelpText("after", "\nExample:\n  $ sandboxer create --name build --ttl 30m --env CI=1")
    .action(create);
  addWorkspaceOptions(command);
}

async function create(options: Options): Promise<void> {
  const { idempotencyKey, json } = options;
  const { withSandboxes } = await import("../connect.ts");
  const body = await bodyOf(options);
  const made = withSandboxes((sandboxes) =>
    sandboxes.create(body, idempotencyKey === undefined ? {} : { idempotencyKey }),
  );
  const sandbox = await waiting("starting a sandbox", made);
  process.stdout.write(`${json ? JSON.stringify(sandbox.info) : sandbox.id}\n`);
  process.exit(0);
}

/** Only what was said: what was left out is the profile's to fill in. */
async function bodyOf(options: Options): Promise<CreateBody> {
  const { name, profile, ttl, image, rootfs, tools, visibility, extensions, policy, maxPrice, budget } =
    options;
  const { cpus, memory, disk, requireLimits, root, env = {}, label: labels = {} } = options;
  const { imageOf } = await import("../image.ts");
  const resources = {
    ...(cpus && { cpus }),
    ...(memory && { memoryMiB: memory }),
    ...(disk && { diskMiB: disk }),
  };
  const { idle, audit, for: kind, project, task } = options;
  const consumer = { ...(kind && { kind }), ...(project && { project }), ...(task && { task }) };
  const routing = {
    ...(policy && { policy }),
    ...(maxPrice !== undefined && { maximumMicroUsdPerHour: maxPrice }),
  };
  return {
    ...(name !== undefined && { name }),
    ...(profile !== undefined && { profile }),
    ...(ttl && { ttlMs: ttl }),
    ...(visibility && { visibility }),
    ...(budget !== undefined && { budgetMicroUsd: budget }),
    ...((image ?? rootfs ?? tools) !== undefined && { image: imageOf({ image, rootfs, tools }) }),
    ...(options.reuse && { reuse: options.reuse }),
    ...(extensions && { extensions }),
    ...workspaceOf(options),
    ...(options.from && { from: options.from }),
    ...(options.volume && { volumes: options.volume }),
    ...(options.isolation && { isolation: options.isolation }),
    ...(Object.keys(resources).length > 0 && { resources }),
    ...(idle && { idleMs: idle }),
    ...keptAs(options),
    ...(audit && { audit }),
    ...(Object.keys(consumer).length > 0 && { consumer }),
    ...(Object.keys(routing).length > 0 && { routing }),
    ...networkOf(options),
    ...(options.secrets && { secrets: options.secrets }),
    ...(requireLimits && { limits: "required" as const }),
    ...(!root && { root: "denied" as const }),
    env,
    labels,
  };
}

function keptAs({ persistent, checkpoint, atEnd, keep, retain: count, retainFor: ageMs }: Options) {
  const retain = { ...(count && { count }), ...(ageMs && { ageMs }) };
  const persistence = checkpoint ? ("checkpoint" as const) : ("persistent" as const);
  return {
    ...((checkpoint || persistent) && { persistence }),
    ...(atEnd && { atEnd }),
    ...(keep && { keepMs: keep }),
    ...(Object.keys(retain).length > 0 && { retain }),
  };
}
