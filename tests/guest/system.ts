import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { debianTree, testCache, withDependencies } from "./debian-tree.ts";
import { makeDisk } from "./disk.ts";
import { initramfs } from "./initramfs.ts";
import { debianKernel, type Kernel } from "./kernel.ts";

/** Enough of Debian for Node, for boxd's tests and for the programs that the conformance suite runs. */
const PACKAGES = [
  "python3-minimal",
  ...["bash", "dash", "coreutils", "findutils", "grep", "sed", "util-linux", "perl-base"],
  ...["e2fsprogs", "libstdc++6", "busybox-static"],
];

const FOLDERS = ["dev", "etc", "home/user", "proc", "root", "run", "sys", "tmp", "var/tmp", "given"];

const ETC = {
  passwd: "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n",
  group: "root:x:0:\nuser:x:1000:\n",
  hosts: "127.0.0.1 localhost guest\n",
};

const DISK_MIB = 1024;

/** What every guest is started from; tests add a disk of their own. */
export interface GuestSystem {
  readonly kernel: Kernel;
  readonly initramfs: Buffer;
  /** An ext4 image of a small Debian with this run's Node in it. Never written to. */
  readonly disk: string;
}

export async function guestSystem(): Promise<GuestSystem> {
  const kernel = await debianKernel();
  const tree = await debianTree(await withDependencies(PACKAGES));
  const busybox = await readFile(join(tree, "usr/bin/busybox"));
  return { kernel, initramfs: initramfs(kernel, busybox), disk: await systemDisk(tree) };
}

async function systemDisk(tree: string): Promise<string> {
  const own = await readFile(new URL(import.meta.url));
  const digest = createHash("sha256").update(own).update(tree).update(process.version).digest("hex");
  const place = join(testCache(), `disk-${digest.slice(0, 16)}`);
  if (existsSync(place)) return place;
  const aside = await mkdtemp(join(testCache(), "part-"));
  try {
    const root = join(aside, "root");
    await cp(tree, root, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    for (const folder of FOLDERS) await mkdir(join(root, folder), { recursive: true });
    for (const folder of ["tmp", "var/tmp"]) await chmod(join(root, folder), 0o1777);
    for (const [name, content] of Object.entries(ETC)) await writeFile(join(root, "etc", name), content);
    await symlink("dash", join(root, "usr/bin/sh")).catch(() => {});
    await cp(process.execPath, join(root, "usr/bin/node"));
    await makeDisk(root, join(aside, "disk"), DISK_MIB);
    await rename(join(aside, "disk"), place);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return place;
}
