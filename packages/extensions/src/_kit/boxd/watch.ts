import { type FileChange, type FileWatch, fileChangeSchema, SandboxerError } from "@sandboxer/contract";
import type { Connection } from "./connection.ts";
import { content } from "./content.ts";
import { linesOf } from "./lines.ts";

/** boxd's paths end at 4,096 bytes; a longer line is not boxd's. */
const MAXIMUM_LINE_CHARACTERS = 65_536;

export async function openWatch(
  connection: Connection,
  path: string,
  options: { readonly recursive?: boolean; readonly user?: string },
): Promise<FileWatch> {
  const stream = await connection.open("watch", { path, ...options });
  await stream.reply;
  return { changes: changes(content(stream)), close: () => stream.cancel() };
}

async function* changes(source: AsyncIterable<Uint8Array>): AsyncGenerator<FileChange> {
  for await (const line of linesOf(source, MAXIMUM_LINE_CHARACTERS)) yield changeOf(line);
}

function changeOf(line: string): FileChange {
  try {
    const change = fileChangeSchema.safeParse(JSON.parse(line));
    if (change.success) return change.data;
  } catch (cause) {
    throw broken(cause);
  }
  throw broken();
}

function broken(cause?: unknown): SandboxerError {
  return new SandboxerError("extension_failed", "the sandbox sent a broken change", { cause });
}
