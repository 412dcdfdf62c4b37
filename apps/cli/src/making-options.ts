import type { CreateBody } from "@sandboxer/contract";
import type { Command } from "commander";
import { list, mebibytes, processors } from "./arguments.ts";
import type { ImageOptions } from "./image.ts";
import { allowance, type NetworkOptions, networkOf } from "./network.ts";
import { addWorkspaceOptions, type WorkspaceOptions, workspaceOf } from "./workspace.ts";

/** What help shows together; each of them stands where it is first used, whoever adds to it later. */
export const TOPICS = {
  most: "Options:",
  made: "What it is made of:",
  reach: "What it may reach:",
  use: "What it may use:",
  stay: "How long it stays:",
  place: "Where it runs:",
  consumer: "Whom it is for:",
} as const;

/** What every command that makes a sandbox takes. */
export interface MakingOptions extends NetworkOptions, WorkspaceOptions, ImageOptions {
  readonly profile?: string;
  readonly cpus?: number;
  readonly memory?: number;
  readonly secrets?: string[];
}

export function addMakingOptions(command: Command): Command {
  return addWorkspaceOptions(command)
    .optionsGroup(TOPICS.made)
    .option("--profile <ref>", "what it is to be, as in python or python@2; the rest then only narrows it")
    .option("--image <ref>", "use this container image, as in debian:12")
    .option("--rootfs <path>", "use this folder or archive as the root instead of this machine's programs")
    .option("--tools <folder...>", "show this machine's folder too, read-only: a version manager's")
    .optionsGroup(TOPICS.reach)
    .option("--allow <host>", "a host it may reach, as in api.example.com or tcp://db.dev:5432", allowance)
    .option(
      "--rules <sets>",
      "named sets of hosts it may reach, as in anthropic; npm needs `packageHosts`",
      list,
    )
    .option("--secrets <list>", "secrets it uses without seeing them, by name", list)
    .option("--ask", "have somebody decide about what no rule allows: `sandboxer approvals`")
    .optionsGroup(TOPICS.use)
    .option("--cpus <count>", "processors it may use (default: 2)", processors)
    .option("--memory <size>", "memory it may use (default: 2G)", mebibytes);
}

/** Only what was said: what was left out is the profile's to fill in. */
export async function madeAs(options: MakingOptions): Promise<CreateBody> {
  const { profile, image, rootfs, tools, cpus, memory, secrets } = options;
  const { imageOf } = await import("./image.ts");
  const resources = { ...(cpus && { cpus }), ...(memory && { memoryMiB: memory }) };
  return {
    ...(profile !== undefined && { profile }),
    ...((image ?? rootfs ?? tools) !== undefined && { image: imageOf({ image, rootfs, tools }) }),
    ...(Object.keys(resources).length > 0 && { resources }),
    ...networkOf(options),
    ...(secrets && { secrets }),
    ...(await workspaceOf(options)),
  };
}
