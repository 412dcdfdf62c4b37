import type { CreateBody, IsolationClass, Visibility } from "@sandboxer/contract";
import { type Command, Option } from "commander";
import {
  durationMs,
  label,
  list,
  mebibytes,
  microUsd,
  reuse,
  variable,
  volume,
  wholeNumber,
} from "./arguments.ts";
import { addMakingOptions, type MakingOptions, madeAs, TOPICS } from "./making-options.ts";

/** Everything that can be said of a sandbox that stays: to make it, or to ask where it would go. */
export interface CreateOptions extends MakingOptions {
  readonly name?: string;
  readonly ttl?: number;
  readonly env?: Record<string, string>;
  readonly label?: Record<string, string>;
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
  readonly disk?: number;
  readonly requireLimits?: true;
  readonly root: boolean;
}

/** Written out: to ask the contract for them would load it whole, also for a command that says none. */
export const CHOICES: {
  readonly [K in "isolation" | "visibility" | "policy" | "for" | "atEnd"]: readonly NonNullable<
    CreateOptions[K]
  >[];
} = {
  isolation: ["process", "container", "userspace-kernel", "microvm"],
  visibility: ["private", "team", "org"],
  policy: ["prefer-self-hosted", "lowest-cost", "explicit"],
  for: ["person", "agent", "automation"],
  atEnd: ["stop", "destroy"],
};

export function addCreateOptions(command: Command): Command {
  command
    .optionsGroup(TOPICS.most)
    .option("--name <name>", "a name to use instead of the id")
    .option("--ttl <time>", "how long it lives (default: 1h)", durationMs)
    .option("-e, --env <NAME=value>", "a variable of every command in it", variable)
    .option("-l, --label <key=value>", "a label", label);
  return addMakingOptions(command)
    .optionsGroup(TOPICS.made)
    .option("--from <snapshot>", "start from a snapshot, by id or name")
    .option("--volume <name:path>", "show a volume there, as in cache:/home/user/.cache", volume)
    .option("--no-root", "nothing in it is done as root, not by sudo either")
    .optionsGroup(TOPICS.reach)
    .option("--learn", "let through what no rule allows, and write it down")
    .optionsGroup(TOPICS.use)
    .option("--disk <size>", "what it may write (default: 10G)", mebibytes)
    .option("--require-limits", "refuse where one of its limits cannot be held")
    .option("--budget <usd>", "the most it may cost in all, as in 0.50", microUsd)
    .option("--audit", "write down what it uses, for `profiles suggest`")
    .optionsGroup(TOPICS.stay)
    .option("--idle <time>", "end it when nobody has used it for so long", durationMs)
    .option(
      "--persistent",
      "can be stopped and started again: its files stay, also over a restart of this machine",
    )
    .option("--checkpoint", "the same, and each stop leaves a snapshot")
    .addOption(
      new Option(
        "--at-end <what>",
        "what becomes of a persistent one at the end of its time (default: stop)",
      ).choices(CHOICES.atEnd),
    )
    .option("--keep <time>", "how long it is kept while it is stopped (default: 30d)", durationMs)
    .option("--retain <count>", "how many of its snapshots without a name stay", wholeNumber)
    .option("--retain-for <time>", "how long each of them stays", durationMs)
    .optionsGroup(TOPICS.place)
    .addOption(new Option("--isolation <class>", "the least isolation").choices(CHOICES.isolation))
    .option("--extensions <list>", "where it may run", list)
    .addOption(new Option("--policy <policy>", "how to choose").choices(CHOICES.policy))
    .option("--max-price <usd>", "the most an hour of it may cost", microUsd)
    .optionsGroup(TOPICS.consumer)
    .option(
      "--reuse <scope:key>",
      "the living one of that label, as in session:42, agent:build or shared:ci",
      reuse,
    )
    .addOption(
      new Option("--visibility <who>", "who else sees it (default: private)").choices(CHOICES.visibility),
    )
    .addOption(new Option("--for <kind>", "who uses it (default: person)").choices(CHOICES.for))
    .option("--project <project>", "the project it is for")
    .option("--task <task>", "the task it is for");
}

/** Only what was said: what was left out is the profile's to fill in. */
export async function createBodyOf(options: CreateOptions): Promise<CreateBody> {
  const { name, ttl, visibility, extensions, policy, maxPrice, budget, disk, requireLimits, root } = options;
  const { env = {}, label: labels = {}, idle, audit, for: kind, project, task } = options;
  const made = await madeAs(options);
  const resources = { ...made.resources, ...(disk && { diskMiB: disk }) };
  const consumer = { ...(kind && { kind }), ...(project && { project }), ...(task && { task }) };
  const routing = {
    ...(policy && { policy }),
    ...(maxPrice !== undefined && { maximumMicroUsdPerHour: maxPrice }),
  };
  return {
    ...made,
    ...(name !== undefined && { name }),
    ...(ttl && { ttlMs: ttl }),
    ...(visibility && { visibility }),
    ...(budget !== undefined && { budgetMicroUsd: budget }),
    ...(options.reuse && { reuse: options.reuse }),
    ...(extensions && { extensions }),
    ...(options.from && { from: options.from }),
    ...(options.volume && { volumes: options.volume }),
    ...(options.isolation && { isolation: options.isolation }),
    ...(Object.keys(resources).length > 0 && { resources }),
    ...(idle && { idleMs: idle }),
    ...keptAs(options),
    ...(audit && { audit }),
    ...(Object.keys(consumer).length > 0 && { consumer }),
    ...(Object.keys(routing).length > 0 && { routing }),
    ...(requireLimits && { limits: "required" as const }),
    ...(!root && { root: "denied" as const }),
    env,
    labels,
  };
}

function keptAs({ persistent, checkpoint, atEnd, keep, retain: count, retainFor: ageMs }: CreateOptions) {
  const retain = { ...(count && { count }), ...(ageMs && { ageMs }) };
  const persistence = checkpoint ? ("checkpoint" as const) : ("persistent" as const);
  return {
    ...((checkpoint || persistent) && { persistence }),
    ...(atEnd && { atEnd }),
    ...(keep && { keepMs: keep }),
    ...(Object.keys(retain).length > 0 && { retain }),
  };
}
