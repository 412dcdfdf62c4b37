import { basename, normalize } from "node:path/posix";
import { type Files, SandboxerError } from "@sandboxer/contract";
import { answerJson, header } from "../exchange.ts";
import { gunzipped } from "../gunzipped.ts";
import { METADATA_PREFIX, metadataOf, setMetadata } from "./entry.ts";
import { makeWay } from "./make-way.ts";
import { boundaryOf, partsOf } from "./multipart.ts";
import { asUser, filesOf, pathOf, type Visit } from "./visit.ts";

const METADATA_HEADER = "x-metadata-";
/** An attribute's name has at most 255 bytes, and an inode's attributes lie in one block of a disk. */
const LONGEST_METADATA_NAME = 255 - METADATA_PREFIX.length;
const MOST_METADATA_BYTES = 4_096;
const NEW_FILE_MODE = 0o644;

interface Written {
  readonly name: string;
  readonly path: string;
  readonly type: "file";
  readonly metadata?: Readonly<Record<string, string>>;
}

/** `POST /files`: one file as it is, or any number in a form. */
export async function upload(visit: Visit): Promise<void> {
  const type = header(visit, "content-type") ?? "";
  const path = visit.url.searchParams.get("path") ?? undefined;
  // Before anything is written: what was there stays as it was.
  const metadata = metadataIn(visit);
  const files = await filesOf(visit);
  const written: Written[] = [];
  const boundary = /^multipart\/form-data/i.test(type) ? boundaryOf(type) : undefined;
  if (boundary !== undefined) {
    for await (const part of partsOf(bodyOf(visit), boundary)) {
      if (part.name !== "file") continue;
      const target = path ?? part.filename;
      if (!target) throw new SandboxerError("invalid_request", "path or filename is required");
      written.push(await write(visit, files, { target, metadata, content: part.content }));
    }
  } else if (/^application\/octet-stream/i.test(type)) {
    if (!path)
      throw new SandboxerError("invalid_request", "path query parameter is required for raw body upload");
    written.push(await write(visit, files, { target: path, metadata, content: bodyOf(visit) }));
  } else {
    const expected = "expected multipart/form-data or application/octet-stream";
    throw new SandboxerError(
      "invalid_request",
      `unsupported content type: ${type.slice(0, 100)}, ${expected}`,
    );
  }
  answerJson(visit.outgoing, 200, written);
}

function bodyOf(visit: Visit): AsyncIterable<Uint8Array> {
  const { incoming } = visit;
  const encoding = header(visit, "content-encoding") ?? "identity";
  if (encoding === "identity") return incoming.iterator({ destroyOnReturn: false });
  if (encoding !== "gzip") {
    throw new SandboxerError("invalid_request", `the encoding ${encoding} is not known here`);
  }
  return gunzipped(incoming.iterator({ destroyOnReturn: false }));
}

interface Writing {
  readonly target: string;
  readonly content: AsyncIterable<Uint8Array>;
  readonly metadata: Readonly<Record<string, string>>;
}

async function write(visit: Visit, files: Files, { target, content, metadata }: Writing): Promise<Written> {
  const who = asUser(visit);
  const path = pathOf(target);
  const before = await files.stat(path, who).catch(() => undefined);
  if (before?.type === "directory") {
    throw new SandboxerError("is_a_directory", `path is a directory: ${target}`);
  }
  if (!before) await makeWay(visit, files, path);
  await files.write(path, content, { ...who, ...(!before && { mode: NEW_FILE_MODE }) });
  const whole = normalize((await files.stat(path, { ...who, follow: false })).path);
  const hasMetadata = Object.keys(metadata).length > 0;
  if (hasMetadata || (before && (await metadataOf(files, whole, who)))) {
    await setMetadata(files, whole, metadata, who);
  }
  return { name: basename(whole), path: whole, type: "file", ...(hasMetadata && { metadata }) };
}

/** As much of it, and of such characters, as E2B keeps. */
function metadataIn({ incoming }: Visit): Record<string, string> {
  const all = Object.entries(incoming.headers)
    .filter(([name]) => name.startsWith(METADATA_HEADER) && name !== METADATA_HEADER)
    .map(([name, value]) => [name.slice(METADATA_HEADER.length), String(value)] as const);
  const refuse = (why: string) => new SandboxerError("invalid_request", `invalid metadata: ${why}`);
  const long = all.find(([name]) => name.length > LONGEST_METADATA_NAME);
  if (long) throw refuse(`metadata key "${long[0]}" exceeds ${LONGEST_METADATA_NAME} bytes`);
  const odd = all.find(([, value]) => !/^[ -~]*$/.test(value));
  if (odd) throw refuse(`metadata value for key "${odd[0]}" is not printable ASCII`);
  const bytes = all.reduce(
    (sum, [name, value]) => sum + METADATA_PREFIX.length + name.length + value.length,
    0,
  );
  if (bytes > MOST_METADATA_BYTES) {
    throw refuse(`total metadata size ${bytes} exceeds ${MOST_METADATA_BYTES} bytes`);
  }
  return Object.fromEntries(all);
}
