import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type ImagesFacet, SandboxerError } from "@sandboxer/contract";
import { askBoxd } from "../../_kit/boxd/command.ts";
import { readArchive } from "./archive.ts";
import { atMost, decompressed } from "./checked-tar.ts";
import { recordOf } from "./describe.ts";
import type { Ground } from "./ground.ts";
import { parseReference } from "./reference.ts";
import type { ImageRecord } from "./shelf.ts";

type Source = AsyncIterable<Uint8Array>;
type Options = Parameters<ImagesFacet["import"]>[1];

/** From one file. It is taken apart by boxd, as somebody who can do no harm. */
export function importImage(ground: Ground, source: Source, { name, kind }: Options): Promise<ImageRecord> {
  const names = name === undefined ? [] : [parseReference(name).name];
  const take = kind === "rootfs" ? importRootfs : importArchive;
  return ground.aside.within(() => take(ground, source, names));
}

/** The files of a root, as they are: an image of one layer. */
async function importRootfs({ layers, put }: Ground, source: Source, names: string[]): Promise<ImageRecord> {
  if (names.length === 0) throw nameless();
  const diffId = await layers.keep({ open: async () => source });
  const config = { ...HERE, rootfs: { type: "layers" as const, diff_ids: [diffId] } };
  return put(recordOf(diffId, config, [diffId]), names);
}

async function importArchive(ground: Ground, source: Source, names: string[]): Promise<ImageRecord> {
  const { aside, boxdPath, mostBytes, layers, put } = ground;
  const draft = await aside.make();
  const dir = join(draft, "archive");
  try {
    await mkdir(dir, { mode: 0o700 });
    const args = ["unpack", "--plain", "--to", dir, "--bytes", String(mostBytes)];
    await askBoxd(boxdPath, args, atMost(mostBytes, await decompressed(source)));
    const { record, names: own } = await readArchive(dir, layers);
    const known = names.length > 0 ? names : own.flatMap(usable);
    if (known.length === 0) throw nameless();
    return await put(record, known);
  } finally {
    await aside.remove(draft);
  }
}

const HERE = { os: "linux", architecture: process.arch === "x64" ? "amd64" : process.arch };

/** What an archive calls itself, where that is a whole name and no tag alone. */
function usable(name: string): string[] {
  try {
    return /[:/]/.test(name) ? [parseReference(name).name] : [];
  } catch {
    return [];
  }
}

function nameless(): SandboxerError {
  return new SandboxerError("invalid_request", "the image has no name", {
    hint: "Give it one: `sandboxer images import --name NAME`.",
  });
}
