import { createReadStream } from "node:fs";
import { constants, open } from "node:fs/promises";
import { join } from "node:path";
import { dockerArchiveSchema, type OciDescriptor, ociIndexSchema } from "@sandboxer/contract";
import { choosePlatform, json, readConfig, readManifest, recordOf, unreadable } from "./describe.ts";
import { digestOf } from "./digest.ts";
import type { Layers } from "./layers.ts";
import type { ImageRecord } from "./shelf.ts";

const MOST_JSON_BYTES = 4 << 20;
const NAMES = ["org.opencontainers.image.ref.name", "io.containerd.image.name"];

export interface FromArchive {
  readonly record: ImageRecord;
  /** What its maker called it. */
  readonly names: readonly string[];
}

/** A folder as OCI lays images out, or as docker saves them. Every file of it may be anything. */
export async function readArchive(dir: string, layers: Layers): Promise<FromArchive> {
  const index = await small(dir, "index.json");
  if (index) return readLayout(dir, index, layers);
  const manifest = await small(dir, "manifest.json");
  if (manifest) return readDockerArchive(dir, manifest, layers);
  throw unreadable("an archive without index.json and manifest.json");
}

async function readLayout(dir: string, bytes: Buffer, layers: Layers): Promise<FromArchive> {
  const index = ociIndexSchema.safeParse(json(bytes, "index.json"));
  if (!index.success) throw unreadable("index.json");
  const [only] = index.data.manifests;
  const first = index.data.manifests.length === 1 && only ? only : choosePlatform(index.data);
  const names = index.data.manifests.flatMap(({ annotations = {} }) =>
    NAMES.flatMap((key) => annotations[key] ?? []),
  );
  let { digest } = first;
  let manifest = readManifest(await blob(dir, first), digest);
  if (!("config" in manifest)) {
    const chosen = choosePlatform(manifest);
    digest = chosen.digest;
    manifest = readManifest(await blob(dir, chosen), digest);
    if (!("config" in manifest)) throw unreadable("a list of lists");
  }
  const config = readConfig(await blob(dir, manifest.config), manifest.config.digest);
  const diffIds = config.rootfs.diff_ids;
  if (diffIds.length !== manifest.layers.length) throw unreadable("its number of layers");
  for (const [at, layer] of manifest.layers.entries()) {
    const { digest, size } = layer;
    const source = { digest, size, open: () => stream(dir, blobName(layer)) };
    await layers.keep({ ...source, diffId: diffIds[at] ?? "" });
  }
  return { record: recordOf(digest, config, diffIds), names };
}

/** Its layers have no digest of their own; what they unpack to has. */
async function readDockerArchive(dir: string, bytes: Buffer, layers: Layers): Promise<FromArchive> {
  const parsed = dockerArchiveSchema.safeParse(json(bytes, "manifest.json"));
  const [image] = parsed.success ? parsed.data : [];
  if (!image) throw unreadable("manifest.json");
  const text = await small(dir, image.Config);
  if (!text) throw unreadable("an archive without its configuration");
  const config = readConfig(text);
  const diffIds = config.rootfs.diff_ids;
  if (diffIds.length !== image.Layers.length) throw unreadable("its number of layers");
  for (const [at, name] of image.Layers.entries()) {
    await layers.keep({ diffId: diffIds[at] ?? "", open: () => stream(dir, name) });
  }
  return { record: recordOf(digestOf(text), config, diffIds), names: image.RepoTags ?? [] };
}

const blobName = ({ digest }: OciDescriptor) => `blobs/sha256/${digest.slice("sha256:".length)}`;

async function blob(dir: string, descriptor: OciDescriptor): Promise<Buffer> {
  const bytes = await small(dir, blobName(descriptor));
  if (!bytes) throw unreadable("an archive that lacks a part");
  return bytes;
}

async function small(dir: string, name: string): Promise<Buffer | undefined> {
  const file = await openPlain(dir, name);
  if (!file) return undefined;
  try {
    if ((await file.stat()).size > MOST_JSON_BYTES) throw unreadable("a description of that length");
    return await file.readFile();
  } finally {
    await file.close();
  }
}

async function stream(dir: string, name: string): Promise<AsyncIterable<Uint8Array>> {
  const file = await openPlain(dir, name);
  if (!file) throw unreadable("an archive that lacks a layer");
  return createReadStream("", { fd: file, highWaterMark: 256 * 1024 });
}

/** No way through a link or out of the folder: names come from the archive. */
async function openPlain(dir: string, name: string) {
  const parts = name.split("/");
  if (parts.some((part) => ["", ".", ".."].includes(part)) || name.includes("\0")) throw unreadable("a name");
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  // Folders are opened one in the other, so that none of them can be a link.
  let place = dir;
  const held = [];
  try {
    for (const part of parts.slice(0, -1)) {
      const folder = await open(join(place, part), flags | constants.O_DIRECTORY);
      held.push(folder);
      place = `/proc/self/fd/${folder.fd}`;
    }
    const file = await open(join(place, parts.at(-1) ?? ""), flags);
    if ((await file.stat()).isFile()) return file;
    await file.close();
    throw unreadable("something that is no file");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ELOOP") throw unreadable("a link");
    throw error;
  } finally {
    await Promise.all(held.map((folder) => folder.close()));
  }
}
