import type { Kernel } from "./kernel.ts";
import { type ArchiveEntry, newcArchive } from "./newc.ts";

const FOLDERS = ["dev", "proc", "sys", "modules", "root"];

/** The first root: only loads what is needed to mount the two disks, and hands over to the second. */
export function initramfs({ modules }: Kernel, busybox: Buffer): Buffer {
  const program = (path: string, content: Buffer): ArchiveEntry => ({ path, mode: 0o100755, content });
  return newcArchive([
    ...FOLDERS.map((path) => ({ path, mode: 0o40755 })),
    program("busybox", busybox),
    program("init", Buffer.from(initScript(modules.map(({ name }) => name)))),
    ...modules.map(({ name, content }) => program(`modules/${name}.ko`, content)),
  ]);
}

function initScript(modules: readonly string[]): string {
  return `#!/busybox sh
set -e
mount() { /busybox mount "$@"; }
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
for name in ${modules.join(" ")}; do /busybox insmod /modules/$name.ko; done
mount -t ext4 -o noatime /dev/vda /root
mount -t ext4 -o noatime /dev/vdb /root/given
for folder in dev proc sys; do mount --move /$folder /root/$folder; done
exec /busybox switch_root /root /bin/sh /given/.boot
`;
}
