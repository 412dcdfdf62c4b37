import { createHash, createPublicKey, type KeyObject, sign } from "node:crypto";
import { mkdir, open, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  LAYER_TYPE,
  type LayerKind,
  MANIFEST_TYPE,
  SNAPSHOT_ANNOTATIONS,
  type Snapshot,
} from "@sandboxer/contract";
import { digestOf, fingerprintOf } from "./digest.ts";

const CONFIG_TYPE = "application/vnd.oci.image.config.v1+json";

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What a snapshot says of itself, wherever it goes. */
export type Said = Pick<Snapshot, "image" | "labels" | "runbook">;

interface Written {
  readonly digest: string;
  readonly bytes: number;
  readonly signer: string;
}

/** An OCI layout, its manifest signed. Nothing is readable by others, and the index comes last. */
export async function writeLayout(
  dir: string,
  layers: AsyncIterable<{ kind: LayerKind; data: AsyncIterable<Uint8Array> }>,
  { image, labels, runbook }: Said,
  privateKey: KeyObject,
): Promise<Written> {
  await mkdir(join(dir, "blobs/sha256"), { recursive: true, mode: 0o700 });
  const descriptors: Descriptor[] = [];
  for await (const { kind, data } of layers) {
    descriptors.push({
      mediaType: LAYER_TYPE,
      ...(await writeStream(dir, data)),
      annotations: { [SNAPSHOT_ANNOTATIONS.kind]: kind },
    });
  }
  const config = await writeBlob(dir, {
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    os: "linux",
    rootfs: { type: "layers", diff_ids: descriptors.map(({ digest }) => digest) },
  });
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config: { mediaType: CONFIG_TYPE, ...config },
    layers: descriptors,
    annotations: {
      [SNAPSHOT_ANNOTATIONS.image]: JSON.stringify(image),
      [SNAPSHOT_ANNOTATIONS.labels]: JSON.stringify(labels),
      ...(runbook !== undefined && { [SNAPSHOT_ANNOTATIONS.runbook]: runbook }),
    },
  });
  const blob = await writeBlob(dir, manifest);
  const publicKey = createPublicKey(privateKey);
  const annotations = {
    [SNAPSHOT_ANNOTATIONS.signature]: sign(null, Buffer.from(manifest), privateKey).toString("base64"),
    [SNAPSHOT_ANNOTATIONS.key]: publicKey.export({ type: "spki", format: "der" }).toString("base64"),
  };
  await writePrivate(join(dir, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  const index = { schemaVersion: 2, manifests: [{ mediaType: MANIFEST_TYPE, ...blob, annotations }] };
  await writePrivate(join(dir, "index.json"), JSON.stringify(index));
  const bytes = descriptors.reduce((sum, { size }) => sum + size, 0);
  return { digest: blob.digest, bytes, signer: fingerprintOf(publicKey) };
}

async function writeBlob(dir: string, content: unknown): Promise<{ digest: string; size: number }> {
  const bytes = Buffer.from(typeof content === "string" ? content : JSON.stringify(content));
  const digest = digestOf(bytes);
  await writePrivate(blobPath(dir, digest), bytes);
  return { digest, size: bytes.length };
}

/** Its name is known when it is all there. */
export async function writeStream(
  dir: string,
  data: AsyncIterable<Uint8Array>,
): Promise<{ digest: string; size: number }> {
  const draft = join(dir, "blobs/sha256/draft");
  const file = await open(draft, "w", 0o600);
  const hash = createHash("sha256");
  let size = 0;
  try {
    for await (const part of data) {
      hash.update(part);
      size += part.length;
      await file.writev([part]);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  const digest = `sha256:${hash.digest("hex")}`;
  await rename(draft, blobPath(dir, digest));
  return { digest, size };
}

export function blobPath(dir: string, digest: string): string {
  return join(dir, "blobs/sha256", digest.slice("sha256:".length));
}

export async function writePrivate(path: string, content: string | Uint8Array): Promise<void> {
  await writeFile(path, content, { mode: 0o600, flush: true });
}
