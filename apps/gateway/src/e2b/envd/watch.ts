import { relative } from "node:path/posix";
import type { FileChange, Files, FileWatch } from "@sandboxer/contract";
import { SandboxerError } from "@sandboxer/contract";
import { z } from "zod";
import { infoOf } from "./entry.ts";
import { pathSchema } from "./filesystem.ts";
import type { Names } from "./names.ts";
import { readNames } from "./names.ts";
import { asUser, filesOf, type Visit } from "./visit.ts";

export const watchRequest = z.object({
  path: pathSchema,
  recursive: z.boolean().default(false),
  includeEntry: z.boolean().default(false),
  allowNetworkMounts: z.boolean().default(false),
});
type WatchRequest = z.output<typeof watchRequest>;

const TYPES = {
  created: "EVENT_TYPE_CREATE",
  changed: "EVENT_TYPE_WRITE",
  removed: "EVENT_TYPE_REMOVE",
  attributes: "EVENT_TYPE_CHMOD",
} as const;

/** Told of the name that it had; the new one is created. */
const RENAMED = "EVENT_TYPE_RENAME";

export interface Watching {
  /** As E2B tells them. */
  readonly events: AsyncIterable<object>;
  close(): void;
}

export async function openWatch(visit: Visit, asked: WatchRequest): Promise<Watching> {
  const files = await filesOf(visit);
  const who = asUser(visit);
  const { type, path: root } = await files.stat(asked.path, who);
  if (type !== "directory") throw new SandboxerError("not_a_directory", `path is not a directory: ${root}`);
  const names = await readNames(files);
  const watch = await files.watch(asked.path, { ...who, recursive: asked.recursive });
  return { events: told({ files, watch, root, names, who, asked }), close: () => watch.close() };
}

interface Telling {
  readonly files: Files;
  readonly watch: FileWatch;
  readonly root: string;
  readonly names: Names;
  readonly who: { readonly user?: string };
  readonly asked: WatchRequest;
}

async function* told(telling: Telling): AsyncGenerator<object> {
  for await (const change of telling.watch.changes) {
    if (change.type === "overflow") continue;
    const { entry, isFilled } = await lookAt(telling, change);
    const name = relative(telling.root, change.path);
    const more = entry && telling.asked.includeEntry ? { entry } : {};
    const isRename = change.type === "removed" && change.moved;
    yield { name, type: isRename ? RENAMED : TYPES[change.type], ...more };
    // A file that appears whole was written to as well, and most clients wait for that.
    if (isFilled) yield { name, type: TYPES.changed, ...more };
  }
}

async function lookAt(
  { files, names, who, asked }: Telling,
  change: Exclude<FileChange, { type: "overflow" }>,
) {
  if (change.type === "removed" || (change.type !== "created" && !asked.includeEntry)) return {};
  const found = await files.stat(change.path, { ...who, follow: false }).catch(() => undefined);
  if (!found) return {};
  const isFilled = change.type === "created" && found.type === "file" && found.size > 0;
  return { isFilled, entry: asked.includeEntry ? await infoOf(files, found, names, who) : undefined };
}
