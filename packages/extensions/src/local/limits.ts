import type { SandboxSpec } from "@sandboxer/contract";

const MIB = 2 ** 20;

/** `limits` of hold's `create`, in the kernel's units: see packages/boxd/PROTOCOL.md. */
export function limitsFor({ resources, limits }: SandboxSpec): Record<string, unknown> {
  const { cpus, memoryMiB, pids, openFiles, diskMiB, diskInodes } = resources;
  return {
    required: limits === "required",
    cpuMillis: cpus && Math.round(cpus * 1_000),
    memoryBytes: memoryMiB && memoryMiB * MIB,
    pids,
    openFiles,
    diskBytes: diskMiB && diskMiB * MIB,
    diskInodes,
  };
}

/** What hold says of what is not in force, one sentence each. */
export function describeLacking(notInForce: unknown): string[] {
  return Object.entries(notInForce as Record<string, string>).map(
    ([name, reason]) => `${name}: ${name === "users" ? "only one" : "not limited"}, because ${reason}`,
  );
}

const ASKED: Readonly<Record<string, keyof SandboxSpec["resources"]>> = {
  cpus: "cpus",
  memory: "memoryMiB",
  pids: "pids",
  disk: "diskMiB",
};

/** Of what this machine lacks, what the spec asks for. */
export function lackingFor({ resources }: SandboxSpec, lacking: unknown): Record<string, string> {
  const asked = Object.entries(lacking as Record<string, string>).filter(([name]) => {
    const member = ASKED[name];
    return name === "users" || (member !== undefined && resources[member] !== undefined);
  });
  return Object.fromEntries(asked);
}
