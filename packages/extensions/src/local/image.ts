import { chown, lstat, mkdir, readlink, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Image, SandboxerError } from "@sandboxer/contract";
import { ETC } from "./etc.ts";

/** What boxd needs to build a root: see `root` in packages/boxd/PROTOCOL.md. */
export interface Root {
  readonly lowers: readonly string[];
  readonly mounts: readonly { source: string; target: string; readOnly: boolean }[];
  readonly tmpfs: readonly string[];
}

/** Raised whenever the skeleton below changes, so that an older one is not used. */
const SKELETON_VERSION = 1;

/** Top-level folders that hold programs. On a merged-/usr system all but the first are links. */
const PROGRAMS = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/** Parts of the host's /etc that programs need and that tell nothing about the host's people. */
const SHARED_ETC = ["alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/certs"];

export async function prepareRoot(image: Image, imagesDir: string): Promise<Root> {
  if (image.kind === "rootfs") {
    const found = await stat(image.path).catch(() => undefined);
    if (!found?.isDirectory()) {
      throw new SandboxerError("invalid_request", `the rootfs ${image.path} is not a folder`);
    }
    return { lowers: [image.path], mounts: [], tmpfs: ["/tmp"] };
  }
  const skeleton = await prepareSkeleton(imagesDir);
  const mounts: Root["mounts"][number][] = [];
  for (const folder of [...PROGRAMS, ...SHARED_ETC.map((name) => `etc/${name}`)]) {
    const found = await lstat(`/${folder}`).catch(() => undefined);
    if (found && !found.isSymbolicLink()) {
      mounts.push({ source: `/${folder}`, target: `/${folder}`, readOnly: true });
    }
  }
  return { lowers: [skeleton], mounts, tmpfs: ["/tmp"] };
}

/** The host image's own few files, made once: built aside, then renamed into place. */
async function prepareSkeleton(imagesDir: string): Promise<string> {
  const place = join(imagesDir, `host-${SKELETON_VERSION}`);
  if (await stat(place).catch(() => undefined)) return place;
  const aside = `${place}.${process.pid}.${Date.now()}`;
  await mkdir(aside, { recursive: true, mode: 0o755 });
  for (const folder of [
    "dev",
    "etc",
    "etc/ssl",
    "home",
    "mnt",
    "opt",
    "proc",
    "root",
    "run",
    "srv",
    "sys",
    "tmp",
    "var",
  ]) {
    await mkdir(join(aside, folder), { mode: 0o755 });
  }
  for (const [name, content] of Object.entries(ETC)) {
    await writeFile(join(aside, "etc", name), content, { mode: 0o644 });
  }
  await mkdir(join(aside, "var/tmp"), { mode: 0o755 });
  const home = join(aside, "home/user");
  await mkdir(home, { mode: 0o755 });
  if (process.getuid?.() === 0) await chown(home, 1000, 1000);
  for (const folder of PROGRAMS) {
    const target = await readlink(`/${folder}`).catch(() => undefined);
    if (target !== undefined) await symlink(target, join(aside, folder));
  }
  await rename(aside, place).catch(async (error) => {
    await rm(aside, { recursive: true, force: true });
    if (!(await stat(place).catch(() => undefined))) throw error;
  });
  return place;
}
