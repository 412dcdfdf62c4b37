import {
  type Applied,
  type ApplyOptions,
  type Changes,
  pointsSchema,
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

    async rollback({ paths = [], to } = {}) {
      const asked =
        to === undefined
          ? connection.call("rollback", { paths })
          : connection.call("rollback-to", { paths, to });
      return checked(rolledBackSchema, await asked);
    },

    async points() {
      const { points, ...rest } = await connection.call("points");
      return checked(pointsSchema, { ...rest, points: Array.isArray(points) ? points.map(named) : points });
    },
  };
}

function named({ attachment, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return { ...rest, ...(attachment !== undefined && { attachmentId: attachment }) };
}

interface Schema<T> {
  safeParse(answer: unknown): { success: true; data: T } | { success: false };
}

function checked<T>(schema: Schema<T>, answer: unknown): T {
  const read = schema.safeParse(answer);
  if (read.success) return read.data;
  throw new SandboxerError("extension_failed", "the sandbox sent a broken answer");
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
