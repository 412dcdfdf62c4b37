import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Finding } from "@sandboxer/contract";

const FIX =
  "Where strangers share this machine: echo 0 > /sys/kernel/mm/ksm/run, swapoff -a, echo off > /sys/devices/system/cpu/smt/control, and the processor's newest microcode.";

/** What lets neighbours on one machine guess at each other's memory, which no namespace prevents. */
export async function findLeaks(root = "/"): Promise<Finding> {
  const read = (path: string) => readFile(join(root, path), "utf8").catch(() => "");
  const holes = join(root, "sys/devices/system/cpu/vulnerabilities");
  const names = await readdir(holes).catch(() => []);
  const states = await Promise.all(
    names
      .sort()
      .map(async (name) => ({ name, state: await read(`sys/devices/system/cpu/vulnerabilities/${name}`) })),
  );
  const open = states.filter(({ state }) => state.startsWith("Vulnerable")).map(({ name }) => name);
  const leaks = [
    (await read("sys/kernel/mm/ksm/run")).trim() === "1" && "equal pages are merged (KSM)",
    (await read("proc/swaps")).trim().split("\n").length > 1 && "memory is swapped to disk",
    (await read("sys/devices/system/cpu/smt/active")).trim() === "1" && "two threads share a core (SMT)",
    open.length > 0 && `the processor is open to ${open.join(", ")}`,
  ].filter((leak) => leak !== false);
  if (leaks.length === 0) return { id: "local.leaks", ok: true, message: "no shared pages, swap or threads" };
  const message = `sandboxes of strangers could guess at each other's memory: ${leaks.join("; ")}`;
  return { id: "local.leaks", ok: false, message, fix: FIX };
}
