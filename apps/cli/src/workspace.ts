import { existsSync, realpathSync } from "node:fs";
import { posix, resolve } from "node:path";
import type { CreateBody, WorkspaceMode } from "@sandboxer/contract";
import type { Client, Sandbox } from "@sandboxer/sdk";
import { type Command, InvalidArgumentError, Option } from "commander";

/** In one place, so that every command that makes sandboxes has the same. */
export function addWorkspaceOptions(command: Command): Command {
  return command
    .optionsGroup("Your folder:")
    .option(
      "-w, --workspace <folder>",
      "work on this folder, at /workspace; `src:/app` puts it elsewhere",
      placeOf,
    )
    .addOption(
      new Option(
        "--access <mode>",
        "what the sandbox may do with the folder (default: copy-on-write)",
      ).choices(["read-only", "read-write", "copy-on-write", "mirror", "remote"]),
    )
    .option("--points <count>", "before how many runs, the newest, one can go back (default: 32)", countOf)
    .option("--allow-sensitive", "also where the folder is, holds or is part of ~/.ssh, /etc and the like");
}

export interface WorkspaceOptions {
  readonly workspace?: { readonly source: string; readonly target?: string };
  readonly access?: WorkspaceMode;
  readonly points?: number;
  readonly allowSensitive?: true;
}

/** A folder with a colon in its name is taken as it is where there is one. */
function placeOf(text: string): NonNullable<WorkspaceOptions["workspace"]> {
  const cut = existsSync(text) ? -1 : text.lastIndexOf(":/");
  const [folder, target] = cut < 1 ? [text] : [text.slice(0, cut), text.slice(cut + 1)];
  if (folder === "") throw new InvalidArgumentError("Give a folder, as in `-w .` or `-w src:/src`.");
  return { source: resolve(folder), ...(target && { target }) };
}

function countOf(text: string): number {
  if (/^\d+$/.test(text) && Number(text) <= 256) return Number(text);
  throw new InvalidArgumentError("Give a number from 0 to 256.");
}

/** A gateway elsewhere has folders of its own. */
async function needFolder(source: string): Promise<void> {
  if (process.env.SANDBOXER_URL || existsSync(source)) return;
  const { SandboxerError } = await import("@sandboxer/contract");
  throw new SandboxerError("path_not_found", `there is no folder ${source}`, {
    hint: "`-w .` takes the one you are in, and relative ones start there.",
  });
}

export async function workspaceOf(options: WorkspaceOptions): Promise<Pick<CreateBody, "workspace">> {
  const { workspace, access, points, allowSensitive } = options;
  if (!workspace) {
    const about = { "--access": access, "--points": points, "--allow-sensitive": allowSensitive };
    const idle = Object.entries(about).find(([, said]) => said !== undefined)?.[0];
    if (!idle) return {};
    throw new InvalidArgumentError(`${idle} is about a folder, and none is given; add it, as in \`-w .\`.`);
  }
  await needFolder(workspace.source);
  return {
    workspace: {
      ...workspace,
      ...(access && { mode: access }),
      ...(points !== undefined && { points }),
      ...(allowSensitive && { allowSensitive }),
    },
  };
}

/** The one that is named, or the newest that works on this folder. */
export async function workspaceSandbox(
  client: Client,
  idOrName: string | undefined,
  mode: WorkspaceMode = "copy-on-write",
): Promise<Sandbox> {
  const { SandboxerError } = await import("@sandboxer/contract");
  if (idOrName !== undefined) {
    const named = await client.sandboxes.get(idOrName);
    if (named.info.spec.workspace) return named;
    throw new SandboxerError("invalid_request", `${idOrName} has no workspace`, {
      hint: "A sandbox gets one when it is made: `sandboxer create -w .`.",
    });
  }
  const here = process.cwd();
  // One that is stopped is better told to be started than not found.
  for (const state of ["running", "paused"] as const) {
    for await (const sandbox of client.sandboxes.all({ states: [state], limit: 200 })) {
      const { workspace } = sandbox.info.spec;
      if (workspace?.mode === mode && isSame(workspace.source, here)) return sandbox;
    }
  }
  throw new SandboxerError("not_found", `no sandbox works on this folder by ${mode}`, {
    hint: `Name one, or make one with \`sandboxer create -w . --access ${mode}\`.`,
  });
}

/** A slip in a path would otherwise choose nothing, and doing nothing looks like success. */
export async function needPaths(
  { info, files, workspace }: Sandbox,
  paths: readonly string[],
): Promise<void> {
  const { SandboxerError } = await import("@sandboxer/contract");
  const target = info.spec.workspace?.target;
  if (target === undefined) return;
  for (const path of paths) {
    const isThere = await files.stat(posix.resolve(target, path)).then(
      () => true,
      (error) => !(SandboxerError.is(error) && error.code === "path_not_found"),
    );
    // What was deleted is only among the changes.
    if (isThere || !(await isEmpty(await workspace.changes({ paths: [path] })))) continue;
    throw new SandboxerError("path_not_found", `there is no ${path} in the workspace, and none was deleted`, {
      hint: "Paths are relative to the workspace; `sandboxer diff --stat` shows what changed.",
    });
  }
}

async function isEmpty(changes: AsyncIterable<unknown>): Promise<boolean> {
  for await (const _ of changes) return false;
  return true;
}

function isSame(source: string, here: string): boolean {
  try {
    return realpathSync(source) === realpathSync(here);
  } catch {
    return false;
  }
}
