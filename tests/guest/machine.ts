import { spawn } from "node:child_process";
import { accessSync, constants, readFileSync } from "node:fs";
import { join } from "node:path";

export interface MachineParts {
  /** Everything the machine writes lies here, so that a run that is broken off can find and end it. */
  readonly folder: string;
  readonly kernelImage: string;
  readonly initramfs: string;
  /** As they are at every start. */
  readonly disks: readonly string[];
  /** What is written to it is there at the next start. */
  readonly keeps?: string;
  readonly memoryMiB: number;
  readonly endsWithinMs: number;
}

/**
 * A kernel that stumbles is to be seen, and not to go on half. On a busy machine an emulated timer can
 * look dead to a kernel that tests it.
 */
const KERNEL_OPTIONS = "console=ttyS0 quiet oops=panic panic=-1 no_timer_check";

/** A virtual machine without any network device: it talks by two serial lines and ends by itself, or is ended. */
export async function runMachine(parts: MachineParts): Promise<{ ended: boolean; complaint: string }> {
  const qemu = spawn("/usr/bin/qemu-system-x86_64", qemuArguments(parts), {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let complaint = "";
  qemu.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-2_000);
  });
  let ended = true;
  const deadline = setTimeout(() => {
    ended = false;
    qemu.kill("SIGKILL");
  }, parts.endsWithinMs);
  await new Promise<void>((resolve, reject) => {
    qemu.once("error", reject).once("close", () => resolve());
  }).finally(() => clearTimeout(deadline));
  return { ended, complaint };
}

function qemuArguments({ folder, kernelImage, initramfs, disks, keeps, memoryMiB }: MachineParts): string[] {
  const drives = [
    ...disks.map((file) => `file=${file},snapshot=on,cache=unsafe`),
    // What this machine has taken is on the disk, for who only switches the other one off.
    ...(keeps === undefined ? [] : [`file=${keeps},cache=writeback`]),
  ];
  return [
    ...["-machine", "q35", "-smp", "2", "-m", `${memoryMiB}`, ...accelerator()],
    ...["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
    ...["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"],
    ...["-kernel", kernelImage, "-initrd", initramfs, "-append", KERNEL_OPTIONS],
    ...["-serial", `file:${join(folder, "console")}`, "-serial", `file:${join(folder, "report")}`],
    ...drives.flatMap((drive, index) => [
      ...["-drive", `id=disk${index},${drive},format=raw,if=none`],
      ...["-device", `virtio-blk-pci,drive=disk${index}`],
    ]),
  ];
}

/** The machine's own processor where it can be had, else an emulated one, which needs nothing. */
function accelerator(): string[] {
  // Protection keys make Node's compiler lose track of its own pages now and then.
  return hasKvm() ? ["-accel", "kvm", "-cpu", "host"] : ["-accel", "tcg,thread=multi", "-cpu", "max,-pku"];
}

/** A /dev/kvm on a processor that shows no virtualisation is nested emulation, and does not boot a kernel. */
function hasKvm(): boolean {
  try {
    accessSync("/dev/kvm", constants.R_OK | constants.W_OK);
    return /^flags\s*:.*\b(vmx|svm)\b/m.test(readFileSync("/proc/cpuinfo", "utf8"));
  } catch {
    return false;
  }
}
