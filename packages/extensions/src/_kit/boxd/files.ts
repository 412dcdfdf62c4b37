import {
  type FileEntry,
  type Files,
  fileEntrySchema,
  type ReadOptions,
  SandboxerError,
  unpackedSchema,
} from "@sandboxer/contract";
import type { Connection } from "./connection.ts";
import { content, upload } from "./content.ts";
import { openWatch } from "./watch.ts";
import { openXattrs } from "./xattrs.ts";

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
      return Number((await upload(stream, source)).bytes);
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

    async chmod(path, mode, options = {}) {
      await connection.call("chmod", { path, mode, ...options });
    },

    async symlink(path, target, options = {}) {
      await connection.call("symlink", { path, target, ...options });
    },

    watch: (path, options = {}) => openWatch(connection, path, options),

    async pack(path, options = {}) {
      const stream = await connection.open("pack", { path, ...options });
      await stream.reply;
      return content(stream);
    },

    async unpack(path, source, options = {}) {
      const stream = await connection.open("unpack", { path, ...options });
      const unpacked = unpackedSchema.safeParse(await upload(stream, source));
      if (unpacked.success) return unpacked.data;
      throw new SandboxerError("extension_failed", "the sandbox sent a broken answer");
    },

    ...openXattrs(connection),
  };
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
