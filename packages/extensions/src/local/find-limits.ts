import { access, constants, readFile } from "node:fs/promises";
import type { Finding } from "@sandboxer/contract";

const DELEGATE = "systemd-run --user --scope -p Delegate=yes -- npx sandboxer up";

/** Whether sandboxes can be held to their limits. What exactly is in force, hold knows. */
export async function findLimits(): Promise<Finding> {
  const id = "local.limits";
  if (process.getuid?.() === 0) return { id, ok: true, message: "limits by control groups and disks" };
  if (await hasOwnGroup()) return { id, ok: true, message: "limits by control groups, but not on disk" };
  return {
    id,
    ok: false,
    message: "no limits on processors, memory, processes and disk: this user has no control group",
    fix: `Run it as root, or give it a control group: \`${DELEGATE}\`.`,
  };
}

/** On version 2, a group that may be changed is one whose list of processes may be written. */
async function hasOwnGroup(): Promise<boolean> {
  const own = /^0::(.*)$/m.exec(await readFile("/proc/self/cgroup", "utf8").catch(() => ""))?.[1];
  if (own === undefined) return false;
  try {
    await access(`/sys/fs/cgroup${own}/cgroup.subtree_control`, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
