import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { debianTree, newestKernelPackage } from "./debian-tree.ts";

/** A disk, a filesystem on it, and what a sandbox's root and its disk are made of. */
const MODULES = [
  ...["virtio", "virtio_ring", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "virtio_blk"],
  ...["crc32c_generic", "crc16", "mbcache", "jbd2", "ext4", "overlay", "loop"],
];

const XZ_MAGIC = Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]);

export interface Kernel {
  /** As `uname -r` says it. */
  readonly release: string;
  readonly image: string;
  /** In the order in which they can be loaded. */
  readonly modules: readonly Module[];
}

interface Module {
  readonly name: string;
  readonly content: Buffer;
}

/** The newest Debian kernel, fetched and never installed. */
export async function debianKernel(): Promise<Kernel> {
  const members = ["./boot/vmlinuz-*", ...MODULES.map((name) => `*/kernel/*/${name}.ko*`)];
  const tree = await debianTree([await newestKernelPackage()], members);
  const [compressed = ""] = globSync(join(tree, "boot/vmlinuz-*"));
  return {
    release: basename(compressed).replace("vmlinuz-", ""),
    image: await withoutCompression(compressed),
    modules: inOrder(
      await Promise.all(MODULES.map(async (name) => ({ name, content: await module(tree, name) }))),
    ),
  };
}

/** Each after those that it says it needs, which is not the same in every version. */
function inOrder(modules: readonly Module[]): Module[] {
  const ordered: Module[] = [];
  const add = (one: Module): void => {
    if (ordered.includes(one)) return;
    const needs = /\0depends=([^\0]*)\0/.exec(one.content.toString("latin1"))?.[1]?.split(",") ?? [];
    for (const needed of modules) if (needs.includes(needed.name)) add(needed);
    ordered.push(one);
  };
  modules.forEach(add);
  return ordered;
}

/**
 * Unpacking itself takes an emulated kernel longer than all of its boot: the ELF file inside the
 * bzImage is started directly. A kernel packed by anything but xz unpacks itself.
 */
async function withoutCompression(bzImage: string): Promise<string> {
  const plain = join(dirname(bzImage), "vmlinux");
  if (globSync(plain).length > 0) return plain;
  const image = await readFile(bzImage);
  const setupSectors = image.readUInt8(0x1f1) + 1;
  const start = setupSectors * 512 + image.readUInt32LE(0x248);
  // Behind the payload's own bytes stand four with its unpacked length.
  const payload = image.subarray(start, start + image.readUInt32LE(0x24c) - 4);
  if (!payload.subarray(0, XZ_MAGIC.length).equals(XZ_MAGIC)) return bzImage;
  const aside = `${plain}.${process.pid}`;
  await writeFile(aside, await unxz(payload));
  await rename(aside, plain);
  return plain;
}

async function module(tree: string, name: string): Promise<Buffer> {
  const [path] = globSync(join(tree, `usr/lib/modules/*/kernel/**/${name}.ko*`));
  if (!path) throw new Error(`the kernel package has no module ${name}`);
  const content = await readFile(path);
  return path.endsWith(".xz") ? unxz(content) : content;
}

async function unxz(packed: Buffer): Promise<Buffer> {
  const running = promisify(execFile)("xz", ["-dc"], { encoding: "buffer", maxBuffer: 256 << 20 });
  running.child.stdin?.end(packed);
  return (await running).stdout;
}
