import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { makeDisk } from "./disk.ts";
import { runMachine } from "./machine.ts";
import type { GuestSystem } from "./system.ts";

export interface GuestWork {
  /** Run by root's shell in /given; its standard output is the report, its standard error goes to the console. */
  readonly script: string;
  /** Put under /given: the path there, and the file or folder here. */
  readonly files?: Readonly<Record<string, string>>;
  /** A disk image that is mounted at /keep, and is afterwards as the guest left it. */
  readonly keeps?: string;
  readonly memoryMiB?: number;
  readonly endsWithinMs?: number;
}

export interface GuestResult {
  readonly report: string;
  readonly console: string;
  /** The script's exit status; absent where the guest ended, or was ended, before the script did. */
  readonly status?: number;
}

const LAST_LINE = /^guest: the script ended with (\d+)\n?$/m;

/**
 * Runs a script as root on a Debian kernel of its own, with cgroup v2 alone and no network. Nothing
 * it does there, however bad, reaches this machine.
 */
export async function inGuest(system: GuestSystem, work: GuestWork): Promise<GuestResult> {
  const folder = await mkdtemp(join(process.env.SANDBOXER_RUN_DIRECTORY || tmpdir(), "guest-"));
  const at = (name: string): string => join(folder, name);
  try {
    const files = { ...work.files };
    await mkdir(at("work"));
    for (const [path, source] of Object.entries(files)) {
      await mkdir(dirname(join(at("work"), path)), { recursive: true });
      await cp(source, join(at("work"), path), { recursive: true, verbatimSymlinks: true });
    }
    await writeFile(join(at("work"), ".boot"), BOOT);
    await writeFile(join(at("work"), ".script"), work.script);
    await makeDisk(at("work"), at("disk"), 512);
    await writeFile(at("initramfs"), system.initramfs);
    const { ended, complaint } = await runMachine({
      folder,
      kernelImage: system.kernel.image,
      initramfs: at("initramfs"),
      disks: [system.disk, at("disk")],
      ...(work.keeps !== undefined && { keeps: work.keeps }),
      memoryMiB: work.memoryMiB ?? 512,
      endsWithinMs: work.endsWithinMs ?? 300_000,
    });
    const said = async (name: string): Promise<string> => readFile(at(name), "utf8").catch(() => "");
    const report = await said("report");
    const status = LAST_LINE.exec(report)?.[1];
    return {
      report: report.replace(LAST_LINE, ""),
      console: `${complaint}${await said("console")}${ended ? "" : "\n(ended by force: it ran too long)\n"}`,
      ...(status !== undefined && { status: Number(status) }),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The guest's process 1: what a distribution's init would mount, then the script, then the end. */
const BOOT = `
mount() { busybox mount "$@"; }
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs -o mode=755 none /run
mkdir -p /dev/pts /dev/shm
mount -t devpts -o gid=5,mode=620,ptmxmode=666 none /dev/pts
mount -t tmpfs -o mode=1777 none /dev/shm
busybox ip link set lo up
busybox hostname guest
[ -b /dev/vdc ] && mkdir -p /keep && mount -t ext4 /dev/vdc /keep
stty -F /dev/ttyS1 raw
export PATH=/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8
cd /given
sh .script </dev/null >/dev/ttyS1 2>/dev/ttyS0
echo "guest: the script ended with $?" >/dev/ttyS1
busybox poweroff -f
`;
