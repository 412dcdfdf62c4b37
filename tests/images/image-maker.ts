import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { makeRootfs } from "../../bench/rootfs.ts";
import { archiveOf, type Member } from "../security/archive.ts";

export interface Manifest {
  readonly digest: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
}

/** An image as a registry has it. */
export interface Made {
  readonly blobs: ReadonlyMap<string, Buffer>;
  /** The last one is what a tag leads to. */
  readonly manifests: readonly Manifest[];
  /** Of the image for this machine. */
  readonly digest: string;
  readonly layers: readonly { readonly digest: string; readonly diffId: string; readonly tar: Buffer }[];
  readonly config: Buffer;
}

export interface Wanted {
  readonly layers: readonly (readonly Member[] | Buffer)[];
  readonly config?: Record<string, unknown>;
  readonly compression?: "gzip" | "zstd" | "none";
  /** Behind a list for several platforms. */
  readonly list?: boolean;
  readonly architecture?: string;
}

export const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const INDEX = "application/vnd.oci.image.index.v1+json";
const LAYER = "application/vnd.oci.image.layer.v1.tar";
const HERE = process.arch === "x64" ? "amd64" : process.arch;

export const digestOf = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

export function makeImage({
  layers,
  config = {},
  compression = "gzip",
  list,
  architecture = HERE,
}: Wanted): Made {
  const blobs = new Map<string, Buffer>();
  const keep = (bytes: Buffer) => {
    blobs.set(digestOf(bytes), bytes);
    return { digest: digestOf(bytes), size: bytes.length };
  };
  const packed = layers.map((layer) => {
    const tar = Buffer.isBuffer(layer) ? layer : archiveOf(layer);
    const bytes =
      compression === "gzip" ? gzipSync(tar) : compression === "zstd" ? zstdCompressSync(tar) : tar;
    const suffix = compression === "none" ? "" : `+${compression}`;
    return { descriptor: { mediaType: LAYER + suffix, ...keep(bytes) }, diffId: digestOf(tar), tar };
  });
  const described = Buffer.from(
    JSON.stringify({
      architecture,
      os: "linux",
      config,
      rootfs: { type: "layers", diff_ids: packed.map(({ diffId }) => diffId) },
    }),
  );
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: { mediaType: "application/vnd.oci.image.config.v1+json", ...keep(described) },
      layers: packed.map(({ descriptor }) => descriptor),
    }),
  );
  const manifests: Manifest[] = [{ digest: digestOf(manifest), mediaType: MANIFEST, bytes: manifest }];
  if (list) manifests.push(listOf(manifest, architecture));
  return {
    blobs,
    manifests,
    digest: digestOf(manifest),
    layers: packed.map(({ descriptor: { digest }, diffId, tar }) => ({ digest, diffId, tar })),
    config: described,
  };
}

function listOf(manifest: Buffer, architecture: string): Manifest {
  const entry = (platform: object) => ({
    mediaType: MANIFEST,
    digest: digestOf(manifest),
    size: manifest.length,
    platform,
  });
  const foreign = { ...entry({ os: "windows", architecture: "amd64" }) };
  const bytes = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: INDEX,
      manifests: [foreign, entry({ os: "linux", architecture })],
    }),
  );
  return { digest: digestOf(bytes), mediaType: INDEX, bytes };
}

/** As one file, as OCI lays it out. */
export function layoutArchive({ blobs, manifests }: Made, names: Record<string, string> = {}): Buffer {
  const last = manifests.at(-1);
  if (!last) throw new Error("an image without a manifest");
  const entry = {
    mediaType: last.mediaType,
    digest: last.digest,
    size: last.bytes.length,
    annotations: names,
  };
  const parts = [...blobs, ...manifests.map(({ digest, bytes }) => [digest, bytes] as const)];
  return archiveOf([
    { name: "oci-layout", content: '{"imageLayoutVersion":"1.0.0"}' },
    { name: "index.json", content: JSON.stringify({ schemaVersion: 2, manifests: [entry] }) },
    ...parts.map(([digest, content]) => ({ name: `blobs/sha256/${digest.slice(7)}`, content })),
  ]);
}

/** As docker saves it. */
export function dockerArchive({ config, layers }: Made, tag: string): Buffer {
  const name = `${digestOf(config).slice(7)}.json`;
  const places = layers.map(({ diffId }) => `${diffId.slice(7)}/layer.tar`);
  return archiveOf([
    { name: "manifest.json", content: JSON.stringify([{ Config: name, RepoTags: [tag], Layers: places }]) },
    { name, content: config },
    ...layers.map(({ tar }, at) => ({ name: places[at] ?? "", content: tar })),
  ]);
}

/** The smallest layer that programs run in. */
export async function busyboxLayer(): Promise<Buffer> {
  const tree = mkdtempSync(join(tmpdir(), "sandboxer-tree-"));
  try {
    await makeRootfs(tree);
    return execFileSync("tar", ["-C", tree, "--numeric-owner", "-cf", "-", "."], { maxBuffer: 64 << 20 });
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}
