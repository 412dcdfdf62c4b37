import {
  type Applied,
  type ApplyOptions,
  type Changes,
  rolledBackSchema,
  SandboxerError,
  type WorkspaceChange,
  workspaceChangeSchema,
} from "@sandboxer/contract";
import type { Connection } from "./connection.ts";
import { content } from "./content.ts";
import { linesOf } from "./lines.ts";

/** boxd tells at most 512 KiB of a file's lines; in JSON a character takes at most six. */
const MAXIMUM_LINE_CHARACTERS = 4 << 20;

/** Brings a layer to the folder it is of. */
type Land = (layer: AsyncIterable<Uint8Array>, options: ApplyOptions) => Promise<Applied>;

/** The sandbox tells what was changed; only the extension knows how to reach the host's folder. */
export function openChanges(connection: Connection, land: Land): Changes {
  return {
    async changes({ paths = [], detail = "names" } = {}) {
      const stream = await connection.open("changes", { paths, detail });
      await stream.reply;
      return changesOf(content(stream));
    },

    async apply({ paths = [], force = false } = {}) {
      const stream = await connection.open("layer", { paths });
      await stream.reply;
      return land(content(stream), { paths, force });
    },

    async rollback({ paths = [] } = {}) {
      const answer = rolledBackSchema.safeParse(await connection.call("rollback", { paths }));
      if (answer.success) return answer.data;
      throw new SandboxerError("extension_failed", "the sandbox sent a broken answer");
    },
  };
}

async function* changesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<WorkspaceChange> {
  for await (const line of linesOf(source, MAXIMUM_LINE_CHARACTERS)) {
    const change = workspaceChangeSchema.safeParse(parsed(line));
    if (!change.success) throw new SandboxerError("extension_failed", "the sandbox sent a broken change");
    yield change.data;
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
