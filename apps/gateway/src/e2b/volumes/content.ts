import { basename, join, relative } from "node:path/posix";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type FileEntry, type Files, SandboxerError } from "@sandboxer/contract";
import { z } from "zod";
import { check } from "../../rest/check.ts";
import { whenOver } from "../../when-over.ts";
import type { Address } from "../address.ts";
import type { Desk } from "../desk.ts";
import { answerJson, type Exchange, header } from "../exchange.ts";
import { readJsonBody } from "../read-body.ts";
import { VOLUME_ROOT } from "./keepers.ts";

const number = z
  .string()
  .regex(/^\d{1,10}$/, "a whole number")
  .transform(Number);
const querySchema = z.object({
  path: z.string().min(1).max(4_096),
  depth: number.optional(),
  uid: number.optional(),
  gid: number.optional(),
  mode: number.optional(),
  force: z.enum(["true", "false"]).optional(),
});
const changeSchema = z.object({
  uid: z.int().optional(),
  gid: z.int().optional(),
  mode: z.int().min(0).max(0o7777).optional(),
});

interface Work {
  readonly exchange: Exchange;
  readonly files: Files;
  readonly query: z.output<typeof querySchema>;
  /** As the keeper has it. */
  readonly path: string;
}

const WAYS: Readonly<Record<string, (work: Work) => Promise<void>>> = {
  "GET path": async ({ exchange, files, path }) => answer(exchange, 200, files, path),
  "PATCH path": async ({ exchange, files, path }) => {
    const asked = check(changeSchema, await readJsonBody(exchange.incoming), "body") as z.output<
      typeof changeSchema
    >;
    await refuseStrangers(files, path, asked);
    if (asked.mode !== undefined) await files.chmod(path, asked.mode);
    await answer(exchange, 200, files, path);
  },
  "DELETE path": async ({ exchange, files, path }) => {
    if (path === VOLUME_ROOT) throw new SandboxerError("invalid_request", "path: the volume itself stays");
    await files.remove(path, { recursive: true });
    exchange.outgoing.writeHead(204).end();
  },
  "GET dir": async ({ exchange, files, path, query }) => {
    const { type } = await files.stat(path);
    if (type !== "directory") throw new SandboxerError("not_a_directory", "path is not a directory");
    const found = await files.list(path, { depth: Math.max(1, query.depth ?? 1) });
    const sorted = found.toSorted((one, other) => (one.path < other.path ? -1 : 1));
    answerJson(exchange.outgoing, 200, sorted.map(viewOf));
  },
  "POST dir": async ({ exchange, files, path, query }) => {
    const parents = query.force === "true";
    const isNew = await files.mkdir(path, { parents, ...(query.mode && { mode: query.mode & 0o7777 }) });
    if (!isNew && !parents) throw new SandboxerError("path_exists", "the directory is there");
    await refuseStrangers(files, path, query);
    await answer(exchange, 201, files, path);
  },
  "GET file": async ({ exchange: { outgoing }, files, path }) => {
    const { type } = await files.stat(path);
    if (type !== "file") throw new SandboxerError("invalid_request", "path is not a file");
    const { size, data } = await files.read(path);
    outgoing.writeHead(200, { "content-type": "application/octet-stream", "content-length": size });
    if (size === 0) return void outgoing.end();
    await pipeline(Readable.from(data, { objectMode: false, highWaterMark: 1 << 20 }), outgoing);
  },
  "PUT file": async ({ exchange, files, path, query }) => {
    const before = await files.stat(path).catch(() => undefined);
    if (before?.type === "directory") throw new SandboxerError("is_a_directory", "path is a directory");
    if (before && query.force === "false") throw new SandboxerError("path_exists", "the file is there");
    const source = exchange.incoming.iterator({ destroyOnReturn: false });
    const mode = query.mode === undefined ? undefined : query.mode & 0o7777;
    await files.write(path, source, { parents: true, ...(mode !== undefined && { mode }) });
    await refuseStrangers(files, path, query);
    await answer(exchange, 201, files, path);
  },
};

/** What E2B's clients do with a volume that no sandbox of theirs has. */
export async function serveVolume(
  exchange: Exchange,
  desk: Desk,
  { volumeId, what }: Extract<Address, { kind: "volume" }>,
): Promise<void> {
  const { ground, incoming, outgoing, url, facts } = exchange;
  facts.route = `e2b /volumecontent/{id}/${what}`;
  const [, token] = /^Bearer +(\S{1,512})$/i.exec(header(exchange, "authorization") ?? "") ?? [];
  if (token === undefined) throw new SandboxerError("unauthenticated", "the request carries no token");
  const principal = await ground.core.enterAccess(volumeId, token);
  facts.keyId = principal.keyId;
  const leave = ground.limits?.enter(principal.keyId);
  if (leave) whenOver(outgoing, leave);
  const way = WAYS[`${incoming.method} ${what}`];
  if (!way) throw new SandboxerError("not_found", "this gateway has no such route");
  const query = check(querySchema, Object.fromEntries(url.searchParams), "query") as z.output<
    typeof querySchema
  >;
  await ground.core.getVolume(principal, volumeId);
  const files = await desk.keepers.files(principal, volumeId);
  // Whatever it says, it is below the volume.
  const path = join(VOLUME_ROOT, join("/", query.path)).replace(/\/$/, "");
  await way({ exchange, files, query, path });
}

async function answer({ outgoing }: Exchange, status: number, files: Files, path: string): Promise<void> {
  answerJson(outgoing, status, viewOf(await files.stat(path, { follow: false })));
}

/** Nobody can be made to own what is another's. */
async function refuseStrangers(
  files: Files,
  path: string,
  asked: { readonly uid?: number | undefined; readonly gid?: number | undefined },
): Promise<void> {
  const { uid, gid } = await files.stat(path, { follow: false });
  if ((asked.uid ?? uid) === uid && (asked.gid ?? gid) === gid) return;
  throw new SandboxerError("invalid_request", `uid, gid: it is ${uid}:${gid}'s, and stays so`);
}

function viewOf({ path, type, size, mode, uid, gid, mtimeMs, target }: FileEntry) {
  const inside = `/${relative(VOLUME_ROOT, path)}`;
  const at = new Date(mtimeMs).toISOString();
  return {
    name: basename(inside),
    type: type === "other" ? "unknown" : type,
    path: inside,
    size,
    mode,
    uid,
    gid,
    // The only time that is known of it.
    atime: at,
    mtime: at,
    ctime: at,
    ...(target !== undefined && { target }),
  };
}
