import { execFile } from "node:child_process";
import { promisify } from "node:util";

/**
 * An ext4 image with the content of a folder, all of it root's. A folder of ours is seen as root's
 * from a user namespace, so that an ordinary user's image is the same as root's.
 */
export async function makeDisk(
  folder: string,
  image: string,
  sizeMiB: number,
  { survives = false } = {},
): Promise<void> {
  const argv = [
    "-q",
    "-t",
    "ext4",
    // Most are written to by nobody twice.
    ...(survives ? [] : ["-O", "^has_journal"]),
    "-E",
    "root_owner=0:0",
    "-d",
    folder,
    image,
    `${sizeMiB}M`,
  ];
  const asRoot = process.getuid?.() === 0 ? [] : ["unshare", "--map-root-user"];
  const [program = "", ...rest] = [...asRoot, "mke2fs", ...argv];
  await promisify(execFile)(program, rest, {
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` },
  });
}
