import { chmod, lstat, mkdir, open, rm, symlink } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { SandboxerError } from "@sandboxer/contract";
import { type Member, readArchive } from "./read.ts";

export interface Landed {
  /** Links that lead out of the folder; none is made on this machine. */
  readonly leftOut: readonly string[];
}

/**
 * Puts what a sandbox packed into a folder of this machine. The archive is the sandbox's word: no
 * name leads out of the folder, nothing is written through a link, and links are made last.
 */
export async function landArchive(source: AsyncIterable<Uint8Array>, folder: string): Promise<Landed> {
  const links: Member[] = [];
  const closed: [string, number][] = [];
  await mkdir(folder, { recursive: true });
  for await (const member of readArchive(source)) {
    const path = pathOf(folder, member.path);
    await checkParents(folder, dirname(path));
    if (member.type === "symlink") links.push(member);
    else if (member.type === "directory") {
      await makeFolder(path);
      closed.push([path, member.mode]);
    } else await writeFile(path, member);
  }
  const leftOut: string[] = [];
  for (const { path, target } of links) {
    if (isWithin(path, target)) await replaceByLink(pathOf(folder, path), target);
    else leftOut.push(path);
  }
  for (const [path, mode] of closed.reverse()) await chmod(path, mode);
  return { leftOut };
}

/** A path below the folder, or a refusal. */
function pathOf(folder: string, name: string): string {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (name.startsWith("/") || name.includes("\0") || parts.includes("..")) throw refused(name);
  return join(folder, ...parts);
}

/** Folders on the way are folders: the archive may have tried to put something else there. */
async function checkParents(folder: string, parent: string): Promise<void> {
  const rest = parent.slice(folder.length).split("/").filter(Boolean);
  let at = folder;
  for (const part of rest) {
    at = join(at, part);
    const found = await lstat(at).catch(() => undefined);
    if (!found) await mkdir(at);
    else if (!found.isDirectory()) throw refused(at);
  }
}

async function makeFolder(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isDirectory()) await chmod(path, 0o700);
  else if (found) throw refused(path);
  else await mkdir(path, { mode: 0o700 });
}

async function writeFile(path: string, { content, mode }: Member): Promise<void> {
  await makeRoom(path);
  const file = await open(path, "wx", 0o600);
  try {
    for await (const part of content) await file.write(part);
    await file.chmod(mode);
  } finally {
    await file.close();
  }
}

async function replaceByLink(path: string, target: string): Promise<void> {
  await makeRoom(path);
  await symlink(target, path);
}

/** A folder is nothing that a file or a link replaces: it may be full of what was there before. */
async function makeRoom(path: string): Promise<void> {
  if ((await lstat(path).catch(() => undefined))?.isDirectory()) throw refused(path);
  await rm(path, { force: true });
}

/** Whether a link at `path` leads to something below the folder, as text. */
function isWithin(path: string, target: string): boolean {
  if (target.startsWith("/") || target.includes("\0")) return false;
  const led = normalize(join(dirname(path), target));
  return led !== ".." && !led.startsWith("../") && !led.startsWith("/");
}

function refused(path: string): SandboxerError {
  return new SandboxerError("extension_failed", `the sandbox's archive leads out of its folder: ${path}`);
}
