import { chown, lstat, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ETC } from "./etc.ts";
import type { Aside } from "./images/aside.ts";
import type { Mount, Root } from "./root.ts";

/** Raised whenever the skeleton below changes, so that an older one is not used. */
const SKELETON_VERSION = 3;

/** Top-level folders that hold programs. On a merged-/usr system all but the first are links. */
const PROGRAMS = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/** Parts of the host's /etc that programs need and that tell nothing about the host's people. */
const SHARED_ETC = ["alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/certs"];
/** The same of languages that do not start without theirs. */
const LANGUAGES_ETC = /^(?:R|java-\d+-openjdk)$/;

const FOLDERS = "dev etc etc/ssl home mnt opt proc root run srv sys tmp var var/tmp".split(" ");

/**
 * There is no sysfs inside: it tells too much about the host, and some hosts cannot give one. These
 * three lists are all of it that common programs insist on.
 */
const PROCESSORS = "/sys/devices/system/cpu";
const PROCESSOR_LISTS = ["online", "possible", "present"];

const USER_ID = 1000;

/** A read-only view of the host's programs over a few files of our own. */
export async function prepareHostImage(imagesDir: string, aside: Aside): Promise<Root> {
  const skeleton = await prepareSkeleton(imagesDir, aside);
  const mounts: Mount[] = [];
  const languages = (await readdir("/etc")).filter((name) => LANGUAGES_ETC.test(name));
  const shared = [...SHARED_ETC, ...languages].map((name) => `etc/${name}`);
  for (const folder of [...PROGRAMS, ...shared]) {
    const found = await lstat(`/${folder}`).catch(() => undefined);
    if (found && !found.isSymbolicLink()) {
      mounts.push({ source: `/${folder}`, target: `/${folder}`, readOnly: true });
    }
  }
  return { lowers: [skeleton], mounts, tmpfs: ["/tmp"] };
}

/** Made once: built aside, then renamed into place, so that nobody ever sees half of it. */
async function prepareSkeleton(imagesDir: string, aside: Aside): Promise<string> {
  const place = join(imagesDir, `host-${SKELETON_VERSION}`);
  if (await stat(place).catch(() => undefined)) return place;
  try {
    await aside.place(place, buildSkeleton);
  } catch (error) {
    // Another process may have been faster; its skeleton is the same.
    if (!(await stat(place).catch(() => undefined))) throw error;
  }
  return place;
}

async function buildSkeleton(place: string): Promise<void> {
  await mkdir(place, { recursive: true, mode: 0o755 });
  for (const folder of FOLDERS) await mkdir(join(place, folder), { mode: 0o755 });
  for (const [name, content] of Object.entries(ETC)) {
    await writeFile(join(place, "etc", name), content, { mode: 0o644 });
  }
  for (const folder of PROGRAMS) {
    const target = await readlink(`/${folder}`).catch(() => undefined);
    if (target !== undefined) await symlink(target, join(place, folder));
  }
  await mkdir(join(place, PROCESSORS), { recursive: true, mode: 0o755 });
  for (const name of PROCESSOR_LISTS) {
    const list = await readFile(join(PROCESSORS, name), "utf8").catch(() => undefined);
    if (list !== undefined) await writeFile(join(place, PROCESSORS, name), list, { mode: 0o444 });
  }
  const home = join(place, "home/user");
  await mkdir(home, { mode: 0o755 });
  if (process.getuid?.() === 0) await chown(home, USER_ID, USER_ID);
}

/** Where this machine's packages come and go, these change. */
const CHANGING = ["/usr", "/usr/bin", "/usr/lib", "/usr/local/bin", "/var/lib/dpkg/status", "/var/lib/rpm"];

/** Which programs a sandbox of the host image sees, in a word that changes when they do. */
export async function identifyHost(tools: readonly string[] = []): Promise<string> {
  const times = [...CHANGING, ...tools].map(
    async (path) => (await stat(path).catch(() => undefined))?.mtimeMs ?? 0,
  );
  return JSON.stringify(["host", SKELETON_VERSION, tools, await Promise.all(times)]);
}
