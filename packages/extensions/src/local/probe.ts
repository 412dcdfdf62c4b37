import { readFile } from "node:fs/promises";
import type { Finding, Probe } from "@sandboxer/contract";
import { BOXD_FIX, hasBoxd } from "../_kit/boxd/path.ts";
import { kernelFault } from "../_kit/faulty-kernels.ts";
import { belowFloor, KERNEL_FLOOR } from "../_kit/floors.ts";
import { findKeeping } from "./find-keeping.ts";
import { findLeaks } from "./find-leaks.ts";
import { findLimits } from "./find-limits.ts";
import { findTools } from "./find-tools.ts";
import { findUsers } from "./find-users.ts";

/**
 * What this host gives the engine. Nothing is started that outlives the question, and nothing at all
 * where boxd runs for this installation already.
 */
export async function probeHost(boxdPath: string, isHolding: () => Promise<boolean>): Promise<Probe> {
  const findings: Finding[] = [
    await findKernel(),
    await findBoxdBinary(boxdPath, isHolding),
    await findUserNamespaces(),
  ];
  const lacking = findings.find((finding) => !finding.ok);
  // Without these there are still sandboxes; each says what is not in force.
  findings.push(
    await findLimits(),
    await findUsers(),
    await findKeeping(),
    await findTools(),
    await findLeaks(),
  );
  const against = await findUnsafe();
  findings.push(...against);
  const unsafe = against.map(({ message }) => message);
  if (!lacking) return { status: "offer", findings, ...(unsafe.length > 0 && { unsafe }) };
  return { status: "unavailable", reason: lacking.message, fix: lacking.fix, findings };
}

/** What is known against this kernel; nothing of it is mended by a setting. */
async function findUnsafe(): Promise<(Finding & { ok: false })[]> {
  const old = belowFloor(await kernelRelease(), KERNEL_FLOOR);
  const fault = kernelFault(await readFile("/proc/version", "utf8").catch(() => ""));
  return [
    ...(old ? [{ id: "local.floor", ok: false as const, message: old, fix: "Use a newer kernel." }] : []),
    ...(fault ? [{ id: "local.fault", ok: false as const, ...fault }] : []),
  ];
}

async function kernelRelease(): Promise<string> {
  return (await readFile("/proc/sys/kernel/osrelease", "utf8").catch(() => "")).trim();
}

async function findKernel(): Promise<Finding> {
  if (process.platform !== "linux") {
    return {
      id: "local.linux",
      ok: false,
      message: `the engine needs Linux; this is ${process.platform}`,
      fix: "Run the gateway on a Linux machine or in a Linux VM.",
    };
  }
  const release = await kernelRelease();
  const [major = 0, minor = 0] = release.split(".").map(Number);
  // Overlay mounts inside a user namespace came with 5.11, mount_setattr with 5.12.
  const ok = major > 5 || (major === 5 && minor >= 12);
  const said = { id: "local.kernel", message: `kernel ${release}` };
  return ok ? { ...said, ok } : { ...said, ok, fix: "Use a kernel of 5.15 or newer." };
}

async function findBoxdBinary(path: string, isHolding: () => Promise<boolean>): Promise<Finding> {
  if (!hasBoxd(path)) {
    return { id: "local.boxd", ok: false, message: "boxd has not been built", fix: BOXD_FIX };
  }
  if (await isHolding()) return { id: "local.boxd", ok: true, message: "boxd runs" };
  const [{ execFile }, { promisify }] = await Promise.all([
    import("node:child_process"),
    import("node:util"),
  ]);
  try {
    const { stdout } = await promisify(execFile)(path, ["--version"], { timeout: 5_000, env: {} });
    return { id: "local.boxd", ok: true, message: stdout.trim() };
  } catch (error) {
    return { id: "local.boxd", ok: false, message: `boxd does not start: ${error}`, fix: BOXD_FIX };
  }
}

/** Each of these switches turns user namespaces off for ordinary users on some distribution. */
const SWITCHES = [
  { path: "/proc/sys/user/max_user_namespaces", bad: "0", fix: "sysctl user.max_user_namespaces=15000" },
  {
    path: "/proc/sys/kernel/unprivileged_userns_clone",
    bad: "0",
    fix: "sysctl kernel.unprivileged_userns_clone=1",
  },
  {
    path: "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    bad: "1",
    fix: "Allow user namespaces for boxd in an AppArmor profile.",
  },
];

async function findUserNamespaces(): Promise<Finding> {
  const id = "local.userns";
  for (const { path, bad, fix } of SWITCHES) {
    const value = await readFile(path, "utf8").catch(() => "");
    const isForRootToo = path.endsWith("max_user_namespaces");
    if (value.trim() === bad && (isForRootToo || process.getuid?.() !== 0)) {
      return { id, ok: false, message: `user namespaces are off (${path} is ${bad})`, fix };
    }
  }
  return { id, ok: true, message: "user namespaces" };
}
