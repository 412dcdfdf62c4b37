import { createHash, createPublicKey, verify } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  imageSchema,
  type LayerKind,
  labelsSchema,
  layoutFileSchema,
  layoutIndexSchema,
  layoutManifestSchema,
  SandboxerError,
  SNAPSHOT_ANNOTATIONS,
} from "@sandboxer/contract";
import { digestOf, fingerprintOf } from "./digest.ts";
import { blobPath, type Said } from "./layout.ts";

const MAXIMUM_JSON_BYTES = 4 << 20;

export interface Verified extends Said {
  readonly digest: string;
  readonly signer: string;
  readonly layers: readonly { readonly kind: LayerKind; readonly digest: string; readonly size: number }[];
}

/** What a layout says, where a key that is trusted says it. The layers themselves are checked as they are read. */
export async function verifyLayout(dir: string, isTrusted: (signer: string) => boolean): Promise<Verified> {
  shape(layoutFileSchema, json(await readSmall(join(dir, "oci-layout"))));
  const [entry] = shape(layoutIndexSchema, json(await readSmall(join(dir, "index.json")))).manifests;
  if (!entry) throw tampered("it has no manifest");
  const bytes = await readSmall(blobPath(dir, entry.digest));
  if (digestOf(bytes) !== entry.digest || bytes.length !== entry.size)
    throw tampered("its manifest was changed");
  const { [SNAPSHOT_ANNOTATIONS.key]: key, [SNAPSHOT_ANNOTATIONS.signature]: signature } = entry.annotations;
  const publicKey = readKey(key);
  if (!verify(null, bytes, publicKey, Buffer.from(signature, "base64")))
    throw tampered("its signature is wrong");
  const signer = fingerprintOf(publicKey);
  if (!isTrusted(signer)) {
    throw new SandboxerError("policy_denied", `the snapshot is signed by ${signer}, which is not trusted`, {
      details: { signer },
      hint: "Compare the fingerprint with its maker's, then import it with `--trust <fingerprint>`.",
    });
  }
  const manifest = shape(layoutManifestSchema, json(bytes));
  const { annotations } = manifest;
  const image = shape(imageSchema, json(Buffer.from(annotations[SNAPSHOT_ANNOTATIONS.image])));
  const said = annotations[SNAPSHOT_ANNOTATIONS.labels] ?? "{}";
  const labels = shape(labelsSchema, json(Buffer.from(said)));
  const { [SNAPSHOT_ANNOTATIONS.runbook]: runbook } = annotations;
  const layers = manifest.layers.map((layer) => ({
    kind: layer.annotations[SNAPSHOT_ANNOTATIONS.kind],
    digest: layer.digest,
    size: layer.size,
  }));
  const words = runbook === undefined ? {} : { runbook };
  return { digest: entry.digest, signer, image, labels, ...words, layers };
}

/** Its last byte comes only if all before it were right. */
export async function* readLayer(dir: string, { digest, size }: Verified["layers"][number]) {
  const path = blobPath(dir, digest);
  if ((await stat(path).catch(() => undefined))?.size !== size) throw tampered("a layer was cut or is gone");
  const hash = createHash("sha256");
  let last: Uint8Array | undefined;
  for await (const part of createReadStream(path, { highWaterMark: 256 * 1024 })) {
    hash.update(part);
    if (last) yield last;
    last = part as Uint8Array;
  }
  if (`sha256:${hash.digest("hex")}` !== digest) throw tampered("a layer was changed");
  if (last) yield last;
}

export function tampered(why: string): SandboxerError {
  return new SandboxerError("invalid_request", `not a snapshot to be trusted: ${why}`, {
    hint: "It was damaged or tampered with; take it again, or export it again.",
  });
}

async function readSmall(path: string): Promise<Buffer> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile() || found.size > MAXIMUM_JSON_BYTES) throw tampered("a part of it is missing");
  return readFile(path);
}

interface Shape<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false };
}

function shape<T>(schema: Shape<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw tampered("a part of it is not what it should be");
}

function json(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw tampered("a part of it is no JSON");
  }
}

function readKey(base64: string) {
  try {
    const key = createPublicKey({ key: Buffer.from(base64, "base64"), format: "der", type: "spki" });
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch {
    // Said below.
  }
  throw tampered("its key is none");
}
