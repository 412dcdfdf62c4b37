import { SandboxerError, type SandboxSpec } from "@sandboxer/contract";

const MIB = 2 ** 20;
const NO_DISK_LIMIT = "disk: not limited, because docker's storage driver here has no quotas";

/** The spec's resources as docker's `HostConfig` names them. */
export function hostLimits({ resources }: SandboxSpec): Record<string, unknown> {
  const { cpus, memoryMiB, pids, openFiles } = resources;
  const memory = memoryMiB && memoryMiB * MIB;
  return {
    ...(cpus && { NanoCpus: Math.round(cpus * 1e9) }),
    // The same for both: no swap.
    ...(memory && { Memory: memory, MemorySwap: memory }),
    ...(pids && { PidsLimit: pids }),
    Ulimits: [
      // One byte: where the host pipes dumps to a program, the kernel takes 0 for "run it anyway".
      { Name: "core", Soft: 1, Hard: 1 },
      ...(openFiles ? [{ Name: "nofile", Soft: openFiles, Hard: openFiles }] : []),
    ],
  };
}

/** What is asked and not in force here; where it is required, a refusal. */
export function notInForce({ resources, limits }: SandboxSpec): string[] {
  if (resources.diskMiB === undefined && resources.diskInodes === undefined) return [];
  if (limits === "required") throw new SandboxerError("extension_unavailable", NO_DISK_LIMIT);
  return [NO_DISK_LIMIT];
}
