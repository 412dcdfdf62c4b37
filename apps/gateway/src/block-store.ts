import { execFile } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { mkdir, open, readdir, rename, rm, statfs } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { SandboxerError } from "@sandboxer/contract";
import { lockHome } from "./lock.ts";
import { makeHome } from "./make-home.ts";

/** The steps of making one, between which a test ends the process. */
export const STORE_FAIL_POINTS = [
  "store.drafted",
  "store.formatted",
  "store.filled",
  "store.named",
  "store.moved",
  "store.mounted",
] as const;
type Pass = (place: (typeof STORE_FAIL_POINTS)[number]) => void;

const SMALLEST_BYTES = 512 * 2 ** 20;
const LARGEST_BYTES = 2 ** 40;
const SHARE_OF_FREE = 0.8;
/** The kernel lets go of disks a moment after the sandboxes; hold leaves when it has had none for a while. */
const LEAVES_WITHIN_MS = 90_000;
const AGAIN_AFTER_MS = 200;

export interface BlockStore {
  readonly file: string;
  readonly bytes: number;
  readonly isMounted: boolean;
}

const placesOf = (home: string) => ({
  engine: join(home, "engine"),
  old: join(home, "engine.old"),
  file: join(home, "store.btrfs"),
  draft: join(home, "store.btrfs.new"),
  filling: join(home, "store.filling"),
});

/** What this home's sandboxes lie on, where that is a store of their own. */
export function findBlockStore(home: string): BlockStore | undefined {
  const { file, engine } = placesOf(home);
  const found = statSync(file, { throwIfNoEntry: false });
  return found && { file, bytes: found.size, isMounted: isMountPoint(engine, home) };
}

/**
 * A file formatted with btrfs, over which everything of the local engine lies from then on: disks in
 * it are copied by sharing their blocks. It has its name last, so a death leaves no store or a whole
 * one, which the next start mounts.
 */
export async function makeBlockStore(
  home: string,
  { bytes, pass = () => {} }: { readonly bytes?: number; readonly pass?: Pass } = {},
): Promise<BlockStore> {
  refuseOrdinaryUser();
  makeHome(home);
  const unlock = lockHome(home);
  try {
    const { engine, file, draft, filling } = placesOf(home);
    if (existsSync(file)) throw new SandboxerError("conflict", `${home} has a store already`);
    const format = programOf(["/usr/sbin/mkfs.btrfs", "/sbin/mkfs.btrfs", "/usr/bin/mkfs.btrfs"]);
    await refuseBusy(engine);
    await clearDraft(home);
    const size = await sizeFor(home, bytes);
    await makeSparse(draft, size);
    pass("store.drafted");
    await run(format, ["--quiet", "--label", "sandboxer", draft]);
    pass("store.formatted");
    await mkdir(filling, { mode: 0o700 });
    await mount(draft, filling);
    // Images are worth keeping; of sandboxes there are none.
    const images = join(engine, "images");
    if (existsSync(images)) await run(programOf(["/bin/cp", "/usr/bin/cp"]), ["-a", images, filling]);
    pass("store.filled");
    await unmount(filling);
    await rm(filling, { recursive: true });
    await rename(draft, file);
    pass("store.named");
    await ensureBlockStore(home, pass);
    pass("store.mounted");
    return { file, bytes: size, isMounted: true };
  } finally {
    unlock();
  }
}

/** Before anything looks for sandboxes: where their store is not mounted they would all seem lost. */
export async function ensureBlockStore(home: string, pass: Pass = () => {}): Promise<void> {
  const { engine, old, file } = placesOf(home);
  if (!existsSync(file)) return;
  if (!isMountPoint(engine, home)) {
    refuseOrdinaryUser();
    // What lay here before the store took its place.
    if (existsSync(engine) && !existsSync(old)) await rename(engine, old);
    pass("store.moved");
    await mkdir(engine, { recursive: true, mode: 0o700 });
    await mount(file, engine);
  }
  if (existsSync(old)) await run(programOf(["/bin/rm", "/usr/bin/rm"]), ["-rf", "--one-file-system", old]);
}

/** Only while nobody has a sandbox on it. The next start as root mounts it again. */
export async function unmountBlockStore(home: string): Promise<void> {
  refuseOrdinaryUser();
  const unlock = lockHome(home);
  try {
    const { engine } = placesOf(home);
    if (!isMountPoint(engine, home)) return;
    await refuseBusy(engine);
    await unmount(engine);
  } finally {
    unlock();
  }
}

const run = promisify(execFile);

async function mount(file: string, folder: string): Promise<void> {
  await run(programOf(["/bin/mount", "/usr/bin/mount"]), ["-t", "btrfs", "-o", "loop,noatime", file, folder]);
}

async function unmount(folder: string): Promise<void> {
  for (const deadline = Date.now() + LEAVES_WITHIN_MS; ; await sleep(AGAIN_AFTER_MS)) {
    try {
      await run(programOf(["/bin/umount", "/usr/bin/umount"]), [folder]);
      return;
    } catch (cause) {
      if (Date.now() < deadline) continue;
      throw new SandboxerError("invalid_state", `${folder} is still in use`, {
        hint: "End what uses it, and try again; nothing was changed.",
        cause,
      });
    }
  }
}

/** No sandbox, and no boxd that could make one. */
async function refuseBusy(engine: string): Promise<void> {
  for (const deadline = Date.now() + LEAVES_WITHIN_MS; ; await sleep(AGAIN_AFTER_MS)) {
    const boxes = await readdir(join(engine, "boxes")).catch(() => []);
    if (boxes.length > 0) {
      throw new SandboxerError("invalid_state", `${boxes.length} sandboxes lie on it`, {
        hint: "Destroy them first: `sandboxer rm --all`. What is worth keeping can be exported as a snapshot.",
      });
    }
    if (!(await answers(join(engine, "hold.sock")))) return;
    if (Date.now() > deadline) throw new SandboxerError("invalid_state", "boxd is still at work there");
  }
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    const say = (answer: boolean) => {
      connection.destroy();
      resolve(answer);
    };
    connection.once("connect", () => say(true)).once("error", () => say(false));
  });
}

/** What one who died had begun. */
async function clearDraft(home: string): Promise<void> {
  const { draft, filling } = placesOf(home);
  if (existsSync(filling)) {
    if (isMountPoint(filling, home)) await unmount(filling);
    await rm(filling, { recursive: true });
  }
  await rm(draft, { force: true });
}

async function sizeFor(home: string, asked: number | undefined): Promise<number> {
  const { bavail, bsize } = await statfs(home);
  const free = bavail * bsize;
  const bytes = asked ?? Math.min(LARGEST_BYTES, Math.floor(free * SHARE_OF_FREE));
  if (bytes >= SMALLEST_BYTES && bytes <= free) return bytes;
  throw new SandboxerError(
    "invalid_request",
    `a store takes between 512 MiB and the ${free} bytes that are free`,
  );
}

async function makeSparse(path: string, bytes: number): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.truncate(bytes);
  } finally {
    await file.close();
  }
}

/** A folder whose filesystem is another than its parent's. */
function isMountPoint(folder: string, parent: string): boolean {
  const found = statSync(folder, { throwIfNoEntry: false });
  return found !== undefined && found.dev !== statSync(parent).dev;
}

function programOf(paths: readonly string[]): string {
  const found = paths.find((path) => existsSync(path));
  if (found) return found;
  throw new SandboxerError("unsupported", `${paths[0]} is not there`, {
    hint: "On Debian, `apt install btrfs-progs`.",
  });
}

function refuseOrdinaryUser(): void {
  if (process.getuid?.() === 0) return;
  throw new SandboxerError("invalid_state", "only root can mount a store of sandboxes", {
    hint: "Run `sandboxer store mount` as root.",
  });
}
