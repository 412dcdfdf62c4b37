import { Buffer } from "node:buffer";
import { basename, normalize } from "node:path/posix";
import { type Files, SandboxerError } from "@sandboxer/contract";
import { answerJson, header } from "../exchange.ts";
import { gunzipped } from "../gunzipped.ts";
import { metadataOf, setMetadata } from "./entry.ts";
import { makeWay } from "./make-way.ts";
import { boundaryOf, partsOf } from "./multipart.ts";
import { asUser, filesOf, pathOf, type Visit } from "./visit.ts";

const METADATA_HEADER = "x-metadata-";
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
  const files = await filesOf(visit);
  const written: Written[] = [];
  const boundary = /^multipart\/form-data/i.test(type) ? boundaryOf(type) : undefined;
  if (boundary !== undefined) {
    for await (const part of partsOf(bodyOf(visit), boundary)) {
      if (part.name !== "file") continue;
      const target = path ?? part.filename;
      if (!target) throw new SandboxerError("invalid_request", "path or filename is required");
      written.push(await write(visit, files, target, part.content));
    }
  } else if (/^application\/octet-stream/i.test(type)) {
    if (!path) throw new SandboxerError("invalid_request", "path is required");
    written.push(await write(visit, files, path, bodyOf(visit)));
  } else {
    throw new SandboxerError("invalid_request", "send multipart/form-data or application/octet-stream");
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

async function write(
  visit: Visit,
  files: Files,
  target: string,
  content: AsyncIterable<Uint8Array>,
): Promise<Written> {
  const who = asUser(visit);
  const path = pathOf(target);
  const before = await files.stat(path, who).catch(() => undefined);
  if (before?.type === "directory") {
    throw new SandboxerError("is_a_directory", `path is a directory: ${target}`);
  }
  if (!before) await makeWay(visit, files, path);
  await files.write(path, content, { ...who, ...(!before && { mode: NEW_FILE_MODE }) });
  const whole = normalize((await files.stat(path, { ...who, follow: false })).path);
  const metadata = metadataIn(visit);
  const hasMetadata = Object.keys(metadata).length > 0;
  if (hasMetadata || (before && (await metadataOf(files, whole, who)))) {
    await setMetadata(files, whole, metadata, who);
  }
  return { name: basename(whole), path: whole, type: "file", ...(hasMetadata && { metadata }) };
}

function metadataIn({ incoming }: Visit): Record<string, string> {
  const metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (!name.startsWith(METADATA_HEADER) || name === METADATA_HEADER) continue;
    metadata[name.slice(METADATA_HEADER.length)] = Buffer.from(String(value), "latin1").toString("utf8");
  }
  return metadata;
}
