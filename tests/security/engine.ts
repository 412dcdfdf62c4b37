import { chmod, chown, copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  type Box,
  collect,
  type ExecInput,
  type Exit,
  type Extension,
  execRequestSchema,
  type Image,
  newRowId,
  newSandboxId,
  type Process,
  type SandboxSpec,
} from "@sandboxer/contract";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { removeEngine } from "../conformance/remove-engine.ts";

interface Ids {
  readonly uid: number;
  readonly gid: number;
}

export interface EngineOptions {
  readonly boxdPath: string;
  /** Whose engine it is; left out, the one of whoever runs the tests. */
  readonly owner?: Ids;
  /** The first of the subordinate ids that the host lends its owner; left out, it lends none. */
  readonly lentFrom?: number;
  /** How many sandboxes it makes ahead; left out, none. */
  readonly pool?: number;
  /** Lines of bash that run before boxd does, in its process. */
  readonly before?: readonly string[];
  /** A program, with its first arguments, that runs boxd. */
  readonly through?: readonly string[];
}

export interface Said {
  readonly text: string;
  readonly errors: string;
  readonly exit: Exit;
}

/** An engine of the test's own, whatever is wrong with the process it starts from. */
export interface Engine {
  readonly dir: string;
  readonly extension: Extension;
  create(image?: Image, env?: Record<string, string>, more?: Partial<SandboxSpec>): Promise<Box>;
  /** One that was made ahead and is now somebody's. */
  claim(): Promise<Box>;
  /** Another one, with all that this one wrote. */
  restore(from: Box): Promise<Box>;
  /** Stops every process of it where it is, and lets it go on. */
  pauseAndResume(box: Box): Promise<void>;
  destroy(box: Box): Promise<void>;
  close(): Promise<void>;
}

const CLAIMED_WITHIN_MS = 60_000;
const LEND = fileURLToPath(new URL("lend-ids.sh", import.meta.url));

const context = { installationId: newRowId("ins"), orgId: newRowId("org") };

export async function openEngine(options: EngineOptions): Promise<Engine> {
  const place = await mkdtemp(join(tmpdir(), "sandboxer-security-"));
  const dir = join(place, "engine");
  await chmod(place, 0o755);
  await mkdir(dir, { mode: 0o700 });
  const { pool = 0 } = options;
  const extension = createLocalExtension({ dir, pool, boxdPath: await writeLauncher(place, options) });
  const engine: Engine = {
    dir,
    extension,
    create: (image = { kind: "host" }, env = {}, more = {}) =>
      extension.create({ ...PLAIN_SPEC, image, env, ...more }, { ...context, sandboxId: newSandboxId() }),
    async claim() {
      for (const deadline = Date.now() + CLAIMED_WITHIN_MS; Date.now() < deadline; await sleep(200)) {
        const box = await engine.create();
        const record = JSON.parse(await readFile(join(dir, "boxes", box.ref, "box.json"), "utf8"));
        if (record.madeAs !== undefined) return box;
        // The next one of its kind is made once nobody asks any more.
        await engine.destroy(box);
      }
      throw new Error("none was made ahead");
    },
    async restore(from) {
      const box = await engine.create();
      if (!from.snapshots || !box.snapshots) throw new Error("it takes no snapshots");
      await box.snapshots.restore("root", await from.snapshots.capture("root"));
      return box;
    },
    async pauseAndResume(box) {
      await extension.pause?.pause(box.ref, context);
      await extension.pause?.resume(box.ref, context);
    },
    destroy: (box) => extension.destroy(box.ref, context),
    async close() {
      for (const box of await extension.list(context)) await extension.destroy(box.ref, context);
      await extension.close();
      await removeEngine(dir, place);
    },
  };
  if (options.owner) await handOver(engine, options.owner);
  return engine;
}

/** A program that takes boxd's place and becomes it. */
async function writeLauncher(place: string, options: EngineOptions): Promise<string> {
  const boxd = join(place, "boxd");
  await copyFile(options.boxdPath, boxd);
  await chmod(boxd, 0o755);
  const { owner, lentFrom } = options;
  const lend =
    owner && lentFrom ? `unshare --mount sh ${LEND} ${place} ${owner.uid} ${owner.gid} ${lentFrom} ` : "";
  const drop = owner ? `setpriv --reuid ${owner.uid} --regid ${owner.gid} --clear-groups ` : "";
  const through = (options.through ?? []).map((word) => `${word} `).join("");
  const lines = [
    "#!/bin/bash",
    ...(options.before ?? []),
    `exec env -i ${lend}${drop}${through}${boxd} "$@"`,
    "",
  ];
  const launcher = join(place, "launch");
  await writeFile(launcher, lines.join("\n"), { mode: 0o755 });
  return launcher;
}

/** Its folder, and the host image in it, which the first create makes before it asks boxd. */
async function handOver(engine: Engine, { uid, gid }: Ids): Promise<void> {
  await chown(engine.dir, uid, gid);
  await engine.create().then(engine.destroy, () => {});
  const images = join(engine.dir, "images");
  for (const entry of await readdir(images, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) await chown(join(entry.parentPath, entry.name), uid, gid);
  }
  await chown(images, uid, gid);
}

export const start = (box: Box, input: ExecInput): Promise<Process> =>
  box.exec(execRequestSchema.parse(input), newRowId("att"));

export async function run(box: Box, argv: string[], more: Partial<ExecInput> = {}): Promise<Said> {
  const { stdout, stderr, exit } = await collect(await start(box, { argv, ...more }));
  return { text: Buffer.from(stdout).toString(), errors: Buffer.from(stderr).toString(), exit };
}

export const shell = (box: Box, script: string, more: Partial<ExecInput> = {}): Promise<Said> =>
  run(box, ["sh", "-c", script], more);

/** Puts the probe into a sandbox and says where. */
export async function bringProbe(box: Box, path: string): Promise<string> {
  const inside = "/home/user/probe";
  await box.files.write(inside, [await readFile(path)], { mode: 0o755 });
  return inside;
}

/** A folder for one test, gone afterwards. */
export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "sandboxer-canary-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
