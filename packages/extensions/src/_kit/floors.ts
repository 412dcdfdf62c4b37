/**
 * Below these a runtime is known to let a sandbox out, or is no longer mended. A series that is not
 * listed and is older than the newest one was never mended.
 */
export interface Floor {
  readonly what: string;
  /** The first mended version of each series, oldest first. */
  readonly versions: readonly string[];
  /** When this was looked up. */
  readonly asOf: string;
  readonly why: string;
}

export const KERNEL_FLOOR: Floor = {
  what: "kernel",
  versions: ["5.15.0"],
  asOf: "2026-11",
  why: "older series get no corrections any more",
};

export const RUNC_FLOOR: Floor = {
  what: "runc",
  versions: ["1.3.6", "1.4.3", "1.5.0-rc.3"],
  asOf: "2026-11",
  why: "CVE-2025-31133, CVE-2025-52565, CVE-2025-52881 and CVE-2026-41579 lead out of a container",
};

export const CRUN_FLOOR: Floor = {
  what: "crun",
  versions: ["1.28"],
  asOf: "2026-11",
  why: "CVE-2026-30892 and CVE-2026-47766 make one somebody else, or lead out of a container",
};

/** It counts its releases by days. */
export const GVISOR_FLOOR: Floor = {
  what: "gVisor",
  versions: ["20251101.0"],
  asOf: "2026-11",
  why: "releases of more than a year ago get no corrections any more",
};

/** Why this version is not safe; nothing where it is. One that does not say what it is may be any. */
export function belowFloor(version: string | undefined, floor: Floor): string | undefined {
  const { what, versions, asOf, why } = floor;
  const found = numbersOf(version ?? "");
  if (!found) return `${what} does not say its version; at least ${versions[0]} is safe (as of ${asOf})`;
  const floors = versions.flatMap((one) => numbersOf(one) ?? []);
  const own = floors.find(({ series }) => series === found.series);
  const newest = Math.max(...floors.map(({ series }) => series));
  const isSafe = own ? !isEarlier(found, own) : found.series > newest;
  if (isSafe) return undefined;
  return `${what} ${version} is below ${versions.join(" / ")}: ${why} (as of ${asOf})`;
}

interface Numbers {
  readonly series: number;
  readonly patch: number;
  /** Of a release itself there is no later candidate. */
  readonly candidate: number;
}

function isEarlier(one: Numbers, other: Numbers): boolean {
  return one.patch < other.patch || (one.patch === other.patch && one.candidate < other.candidate);
}

function numbersOf(version: string): Numbers | undefined {
  const [, major, minor, patch, candidate] =
    /^v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-~]rc\.?(\d+))?/.exec(version) ?? [];
  if (major === undefined || minor === undefined) return undefined;
  return {
    series: Number(major) * 1_000 + Number(minor),
    patch: Number(patch ?? 0),
    candidate: candidate === undefined ? Number.POSITIVE_INFINITY : Number(candidate),
  };
}
