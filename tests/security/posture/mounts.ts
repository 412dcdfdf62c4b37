import { lstatSync, readdirSync, readFileSync } from "node:fs";
import type { MountFacts } from "./facts.ts";

/** The whole mount table of a sandbox of the host image, and nothing else may be in it. */

const DEVICES = ["full", "null", "random", "tty", "urandom", "zero"];
const READ_ONLY_IN_PROC = ["bus", "fs", "irq", "sys", "sysrq-trigger"];
const MASKED_IN_PROC =
  "acpi asound cmdline interrupts kcore key-users keys kmsg latency_stats sched_debug scsi timer_list timer_stats".split(
    " ",
  );
const FROM_HOST =
  "usr bin sbin lib lib32 lib64 libx32 etc/alternatives etc/ld.so.cache etc/ld.so.conf etc/ld.so.conf.d etc/ssl/certs".split(
    " ",
  );

/** Of languages that do not start without theirs. */
const LANGUAGES = /^(R|java-[0-9]+-openjdk)$/;

const mount = (path: string, type: string, flags: string): MountFacts => ({
  path,
  type,
  flags: flags.split(",").sort(),
  propagation: "",
});

/** `workspace`: where a copy-on-write one is. */
export function expectedMounts(workspace?: string): MountFacts[] {
  const languages = readdirSync("/etc").filter((name) => LANGUAGES.test(name));
  const fromHost = [...FROM_HOST, ...languages.map((name) => `etc/${name}`)]
    .map((name) => `/${name}`)
    .filter((path) => {
      const found = lstatSync(path, { throwIfNoEntry: false });
      return found !== undefined && !found.isSymbolicLink();
    });
  const below = hostMountPoints().filter((path) => fromHost.some((folder) => path.startsWith(`${folder}/`)));
  const masked = MASKED_IN_PROC.map((name) => `/proc/${name}`).flatMap((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (!found) return [];
    return found.isDirectory()
      ? [mount(path, "tmpfs", "ro,nosuid,nodev,noexec")]
      : [mount(path, "*", "ro,nosuid,noexec")];
  });
  return [
    mount("/", "overlay", "rw,nosuid,nodev"),
    mount("/proc", "proc", "rw,nosuid,nodev,noexec"),
    ...READ_ONLY_IN_PROC.map((name) => `/proc/${name}`)
      .filter((path) => lstatSync(path, { throwIfNoEntry: false }))
      .map((path) => mount(path, "proc", "ro,nosuid,nodev,noexec")),
    // One of its own, in place of the machine's.
    mount("/proc/sys/kernel/random/boot_id", "tmpfs", "ro,nosuid,nodev,noexec"),
    ...masked,
    mount("/dev", "tmpfs", "ro,nosuid,noexec"),
    ...DEVICES.map((name) => mount(`/dev/${name}`, "*", "rw,nosuid,noexec")),
    mount("/dev/pts", "devpts", "rw,nosuid,noexec"),
    mount("/dev/shm", "tmpfs", "rw,nosuid,nodev,noexec"),
    mount("/tmp", "tmpfs", "rw,nosuid,nodev"),
    ...(workspace ? [mount(workspace, "overlay", "rw,nosuid,nodev")] : []),
    ...[...fromHost, ...below].map((path) => mount(path, "*", "ro,nosuid,nodev")),
  ];
}

const hostMountPoints = (): string[] =>
  readFileSync("/proc/self/mountinfo", "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "");
