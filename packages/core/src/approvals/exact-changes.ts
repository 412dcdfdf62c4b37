import { createHash, type Hash } from "node:crypto";
import { type Box, type Sandbox, SandboxerError, type WorkspaceChange } from "@sandboxer/contract";
import { changesOf } from "../changes.ts";

/** What a yes to an apply is for. */
interface ExactChanges {
  readonly changes: number;
  readonly digest: string;
}

/**
 * The changes as they are now, in one word: whoever said yes has looked at these, and not at what
 * the sandbox writes afterwards. Whatever a patch does not show is read itself.
 */
export async function exactChanges(
  sandbox: Sandbox,
  box: Box,
  paths: readonly string[],
): Promise<ExactChanges> {
  const hash = createHash("sha256");
  let changes = 0;
  const found = await changesOf(sandbox, box).changes({ paths: [...paths], detail: "patch" });
  for await (const change of found) {
    changes += 1;
    hash.update(`${JSON.stringify(change)}\n`);
    if (isUnseen(change)) await read(hash, sandbox, box, change);
  }
  return { changes, digest: hash.digest("hex") };
}

const isUnseen = ({ change, type, patch }: WorkspaceChange): boolean =>
  change !== "deleted" && type === "file" && patch === undefined;

async function read(
  hash: Hash,
  { spec }: Sandbox,
  box: Box,
  { path, lossy }: WorkspaceChange,
): Promise<void> {
  if (lossy) {
    throw new SandboxerError("invalid_request", `nobody can be asked about ${path}: its name is not UTF-8`, {
      hint: "Give it another name, or leave it out of the paths.",
    });
  }
  const { data } = await box.files.read(`${spec.workspace?.target}/${path}`);
  for await (const part of data) hash.update(part);
}
