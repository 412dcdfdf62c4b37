import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join, posix } from "node:path";
import type { WorkspaceChange } from "@sandboxer/contract";
import type { Sandbox } from "@sandboxer/sdk";
import { binaryLines } from "./git-binary.ts";
import { headOf, patchOf } from "./patch.ts";
import { printable } from "./printable.ts";

/** More than this of one file goes by other ways. */
const MOST_BYTES = 256 * 2 ** 20;
const NAMED = 5;

/** What git would refuse, and with it everything else in the patch. */
function whyLeftOut(change: WorkspaceChange): string | undefined {
  // Also as file systems that know no case, or short names only, would take it.
  if (change.path.split("/").some((name) => /^(?:\.git|git~1)$/i.test(name))) return "in .git";
  if (change.lossy) return "name is not UTF-8";
  if (isOtherKind(change)) return `was a ${change.oldType}`;
  if (change.binary) return "binary";
  if (change.large) return "large";
  return undefined;
}

/** Of the two that git knows. */
function isOtherKind({ change, type, oldType = type }: WorkspaceChange): boolean {
  const areKnown = [type, oldType].every((kind) => kind === "file" || kind === "symlink");
  return change === "changed" && areKnown && oldType !== type;
}

/** Of a file that has no lines to show: whole, as it was and as it is. Undefined where that cannot be read. */
async function wholePatchOf(sandbox: Sandbox, change: WorkspaceChange): Promise<string | undefined> {
  const { workspace } = sandbox.info.spec;
  const why = whyLeftOut(change);
  if (!workspace || why === "in .git" || change.lossy) return undefined;
  const { path, type, oldType = type, size = 0, oldSize = 0 } = change;
  if (size > MOST_BYTES || oldSize > MOST_BYTES) return undefined;
  const isGone = change.change === "deleted";
  const isNew = change.change === "added";
  const now = isGone ? undefined : await inside(sandbox, posix.join(workspace.target, path), change);
  const old = isNew ? undefined : await here(join(workspace.source, path), oldType, change);
  if ((!isGone && !now) || (!isNew && !old)) return undefined;
  // Git makes another kind of thing by taking away the one and adding the other.
  if (isOtherKind(change)) {
    return (
      wholeOf({ ...change, change: "deleted", type: oldType }, old, undefined) +
      wholeOf({ ...change, change: "added" }, undefined, now)
    );
  }
  return wholeOf(change, old, now);
}

function wholeOf(change: WorkspaceChange, old?: Uint8Array, now?: Uint8Array): string {
  return `${[...headOf(change), ...binaryLines(old, now)].join("\n")}\n`;
}

async function inside(sandbox: Sandbox, path: string, { type, target = "" }: WorkspaceChange) {
  if (type === "symlink") return Buffer.from(target);
  if (type !== "file") return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await sandbox.files.read(path)).data) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The folder is this machine's, or the patch goes without it. */
async function here(path: string, type: string, { oldTarget = "", oldSize }: WorkspaceChange) {
  if (type === "symlink") return Buffer.from(oldTarget);
  if (type !== "file") return undefined;
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const found = await file.stat();
    return found.isFile() && found.size === oldSize ? await file.readFile() : undefined;
  } catch {
    return undefined;
  }
}

/** The patch of one change for git, and a note of each that is not in it. */
export async function gitPatchOf(
  sandbox: Sandbox,
  change: WorkspaceChange,
  { binary, leftOut }: { readonly binary: boolean; readonly leftOut: string[] },
): Promise<string> {
  const why = whyLeftOut(change);
  if (!why) return patchOf(change);
  const whole = binary ? await wholePatchOf(sandbox, change) : undefined;
  if (whole === undefined) leftOut.push(`${change.path} (${why})`);
  return whole ?? "";
}

export function noteOf(leftOut: readonly string[]): string {
  const named = printable(leftOut.slice(0, NAMED).join(", "));
  const more = leftOut.length > NAMED ? ` and ${leftOut.length - NAMED} more` : "";
  return `not in the patch: ${named}${more}; --binary takes in whole files, and \`sandboxer apply\` brings over everything`;
}
