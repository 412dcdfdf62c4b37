import { basename } from "node:path/posix";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { SandboxerError } from "@sandboxer/contract";
import { header } from "../exchange.ts";
import { asUser, filesOf, pathOf, type Visit } from "./visit.ts";

/** `GET /files`: a file, or a range of it. */
export async function download(visit: Visit): Promise<void> {
  const { outgoing, incoming, url } = visit;
  const asked = url.searchParams.get("path") ?? "";
  const path = pathOf(asked);
  const files = await filesOf(visit);
  const who = asUser(visit);
  const { type, size } = await files.stat(path, who).catch((error) => {
    if (SandboxerError.from(error).code !== "path_not_found") throw error;
    throw new SandboxerError("path_not_found", `path '${asked}' does not exist`);
  });
  if (type === "directory") throw new SandboxerError("is_a_directory", `path '${asked}' is a directory`);
  if (type !== "file") throw new SandboxerError("invalid_request", `path '${asked}' is not a regular file`);
  const range = rangeOf(header(visit, "range"), size);
  const headers = {
    "accept-ranges": "bytes",
    "content-type": "application/octet-stream",
    "content-disposition": `inline; filename*=utf-8''${encodeURIComponent(basename(asked))}`,
  };
  if (range === "unsatisfiable") {
    return void outgoing.writeHead(416, { ...headers, "content-range": `bytes */${size}` }).end();
  }
  const content = await files.read(path, {
    ...who,
    ...(range && { offset: range.from, length: range.length }),
  });
  if (!range && content.size === 0) return sendUnsized(visit, content.data, headers);
  const length = range ? range.length : content.size;
  outgoing.writeHead(range ? 206 : 200, {
    ...headers,
    ...(range && { "content-range": `bytes ${range.from}-${range.from + length - 1}/${size}` }),
    "content-length": length,
    "last-modified": new Date(content.mtimeMs).toUTCString(),
  });
  if (incoming.method === "HEAD" || length === 0) return void outgoing.end();
  await pipeline(Readable.from(content.data, { objectMode: false, highWaterMark: 1 << 20 }), outgoing);
}

/** What the kernel makes up says that it is empty; only one that is gets a length, which is zero. */
async function sendUnsized(
  { outgoing, incoming }: Visit,
  data: AsyncIterable<Uint8Array>,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const parts = data[Symbol.asyncIterator]();
  const first = await parts.next();
  const isEmpty = first.done || incoming.method === "HEAD";
  outgoing.writeHead(200, { ...headers, ...(first.done && { "content-length": 0 }) });
  if (isEmpty) {
    await parts.return?.();
    return void outgoing.end();
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => parts };
  }
  await pipeline(Readable.from(all(), { objectMode: false }), outgoing);
}

/** One range; several, or what cannot be read, is the whole file, as HTTP has it. */
function rangeOf(text: string | undefined, size: number) {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(text ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  const from = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const to = first === "" || last === "" ? size - 1 : Math.min(Number(last), size - 1);
  return from > to || from >= size ? ("unsatisfiable" as const) : { from, length: to - from + 1 };
}
