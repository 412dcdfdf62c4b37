import { constants } from "node:os";
import type { Box } from "@sandboxer/contract";
import { run } from "./engine.ts";

/** What a filter says to a call: it passes, or the error the caller gets instead. */
export type Verdict = "passes" | "EPERM" | "ENOSYS" | string;

const NAMES = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));
NAMES.set(93, "EPROTONOSUPPORT").set(97, "EAFNOSUPPORT");

/** The probe's answers, in the order of the questions; see `packages/boxd/examples/probe`. */
export function parseVerdicts(text: string): Map<string, Verdict> {
  const verdicts = new Map<string, Verdict>();
  for (const line of text.trim().split("\n")) {
    const [abi, number, said] = line.split(" ");
    verdicts.set(`${abi} ${number}`, said === "passes" ? said : (NAMES.get(Number(said)) ?? `errno ${said}`));
  }
  return verdicts;
}

export async function verdictsIn(
  box: Box,
  probe: string,
  questions: string[],
): Promise<Map<string, Verdict>> {
  return parseVerdicts((await run(box, [probe, "verdicts", ...questions])).text);
}

/** The answer to a single question, which may have arguments: `native:41:16,3,0`. */
export async function verdictIn(box: Box, probe: string, question: string): Promise<Verdict | undefined> {
  return [...(await verdictsIn(box, probe, [question])).values()][0];
}

/** Numbers on x86-64. */
export const CALLS = {
  ioctl: 16,
  socket: 41,
  socketpair: 53,
  clone: 56,
  setuid: 105,
  setresuid: 117,
  personality: 135,
  clone3: 435,
} as const;

/** CA-3: whoever could mount or make namespaces could leave. */
export const MOUNTS_AND_NAMESPACES = {
  ...{ pivot_root: 155, chroot: 161, mount: 165, umount2: 166, unshare: 272, setns: 308, open_tree: 428 },
  ...{ move_mount: 429, fsopen: 430, fsconfig: 431, fsmount: 432, fspick: 433, mount_setattr: 442 },
  ...{ open_tree_attr: 467 },
};

/** CA-4: parts of the kernel that no program in a sandbox needs and that have let others out. */
export const KERNEL_SURFACE = {
  ...{ syslog: 103, acct: 163, settimeofday: 164, swapon: 167, swapoff: 168, reboot: 169, sethostname: 170 },
  ...{ setdomainname: 171, iopl: 172, ioperm: 173, init_module: 175, delete_module: 176, quotactl: 179 },
  ...{ lookup_dcookie: 212, clock_settime: 227, kexec_load: 246, add_key: 248, request_key: 249 },
  ...{ keyctl: 250, perf_event_open: 298, fanotify_init: 300, open_by_handle_at: 304, clock_adjtime: 305 },
  ...{ process_vm_readv: 310, process_vm_writev: 311, kcmp: 312, finit_module: 313, kexec_file_load: 320 },
  ...{ bpf: 321, userfaultfd: 323, io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427 },
  ...{ pidfd_getfd: 438, process_madvise: 440, memfd_secret: 447 },
};
