import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { CreateBody, WorkspaceMode } from "@sandboxer/contract";
import type { Client, Sandbox } from "@sandboxer/sdk";
import { type Command, InvalidArgumentError, Option } from "commander";

/** In one place, so that every command that makes sandboxes has the same. */
export function addWorkspaceOptions(command: Command): Command {
  return command
    .option("-w, --workspace <folder[:inside]>", "work on this folder, at /workspace unless said", placeOf)
    .addOption(
      new Option(
        "--access <mode>",
        "what the sandbox may do with the folder (default: copy-on-write)",
      ).choices(["read-only", "read-write", "copy-on-write", "mirror", "remote"]),
    )
    .option("--allow-sensitive", "also where the folder is, holds or is part of ~/.ssh, /etc and the like");
}

export interface WorkspaceOptions {
  readonly workspace?: { readonly source: string; readonly target?: string };
  readonly access?: WorkspaceMode;
  readonly allowSensitive?: true;
}

/** A folder with a colon in its name is taken as it is where there is one. */
function placeOf(text: string): NonNullable<WorkspaceOptions["workspace"]> {
  const cut = existsSync(text) ? -1 : text.lastIndexOf(":/");
  const [folder, target] = cut < 1 ? [text] : [text.slice(0, cut), text.slice(cut + 1)];
  if (folder === "") throw new InvalidArgumentError("Give a folder, as in `-w .` or `-w src:/src`.");
  return { source: resolve(folder), ...(target && { target }) };
}

export function workspaceOf(options: WorkspaceOptions): Pick<CreateBody, "workspace"> {
  const { workspace, access, allowSensitive } = options;
  if (!workspace) return {};
  return {
    workspace: { ...workspace, ...(access && { mode: access }), ...(allowSensitive && { allowSensitive }) },
  };
}

/** The one that is named, or the newest that works on this folder. */
export async function workspaceSandbox(
  client: Client,
  idOrName: string | undefined,
  mode: WorkspaceMode = "copy-on-write",
): Promise<Sandbox> {
  if (idOrName !== undefined) return client.sandboxes.get(idOrName);
  const here = process.cwd();
  for await (const sandbox of client.sandboxes.all({ states: ["running"], limit: 200 })) {
    const { workspace } = sandbox.info.spec;
    if (workspace?.mode === mode && isSame(workspace.source, here)) return sandbox;
  }
  const { SandboxerError } = await import("@sandboxer/contract");
  throw new SandboxerError("not_found", `no sandbox works on this folder by ${mode}`, {
    hint: `Name one, or make one with \`sandboxer create -w . --access ${mode}\`.`,
  });
}

function isSame(source: string, here: string): boolean {
  try {
    return realpathSync(source) === realpathSync(here);
  } catch {
    return false;
  }
}
