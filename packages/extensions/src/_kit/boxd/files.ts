import {
  type FileEntry,
  type Files,
  fileEntrySchema,
  type ReadOptions,
  SandboxerError,
} from "@sandboxer/contract";
import type { Connection } from "./connection.ts";
import type { Stream } from "./stream.ts";

/** A listing longer than this is refused: it is held in memory as a whole. */
const MAXIMUM_LISTING_BYTES = 64 << 20;

export function openFiles(connection: Connection): Files {
  return {
    async read(path, options: ReadOptions = {}) {
      const stream = await connection.open("read", { path, ...options });
      const { size, mode, mtimeMs } = await stream.reply;
      return { size: Number(size), mode: Number(mode), mtimeMs: Number(mtimeMs), data: content(stream) };
    },

    async write(path, source, options = {}) {
      const stream = await connection.open("write", { path, ...options });
      try {
        await stream.reply;
        for await (const part of source) await stream.send(0, part);
        await stream.sendEof(0);
        return Number((await resultOf(stream)).bytes);
      } finally {
        stream.cancel();
      }
    },

    async stat(path, options = {}) {
      const { entry } = await connection.call("stat", { path, ...options });
      return entryOf(entry);
    },

    async list(path, options = {}) {
      const stream = await connection.open("list", { path, ...options });
      await stream.reply;
      return entriesOf(content(stream));
    },

    async mkdir(path, options = {}) {
      return (await connection.call("mkdir", { path, ...options })).created === true;
    },

    async move(from, to, options = {}) {
      await connection.call("move", { from, to, ...options });
    },

    async remove(path, options = {}) {
      await connection.call("remove", { path, ...options });
    },
  };
}

async function* content(stream: Stream): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const item = await stream.next();
      if (item.type === "data") yield item.data;
      if (item.type === "end" || item.type === "cancelled") return;
    }
  } finally {
    stream.cancel();
  }
}

async function resultOf(stream: Stream): Promise<Readonly<Record<string, unknown>>> {
  for (;;) {
    const item = await stream.next();
    if (item.type === "end") return item.result;
    if (item.type === "cancelled") throw new SandboxerError("internal", "nobody waits for this any more");
  }
}

async function entriesOf(source: AsyncIterable<Uint8Array>): Promise<FileEntry[]> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of source) {
    length += part.length;
    if (length > MAXIMUM_LISTING_BYTES) {
      throw new SandboxerError("payload_too_large", "the listing is too long", {
        hint: "List a deeper folder, or ask for less depth.",
      });
    }
    parts.push(part);
  }
  const lines = Buffer.concat(parts).toString("utf8").split("\n").filter(Boolean);
  return lines.map((line) => {
    try {
      return entryOf(JSON.parse(line));
    } catch (cause) {
      throw new SandboxerError("extension_failed", "the sandbox sent a broken listing", { cause });
    }
  });
}

function entryOf(value: unknown): FileEntry {
  const entry = fileEntrySchema.safeParse(value);
  if (entry.success) return entry.data;
  throw new SandboxerError("extension_failed", "the sandbox sent a broken file entry");
}
