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
  versions: ["1.3.6", "1.4.3", "1.5.0"],
  asOf: "2026-11",
  why: "CVE-2025-31133, CVE-2025-52565, CVE-2025-52881 and CVE-2026-41579 lead out of a container",
};

/** Why this version is not safe; nothing where it is. One that does not say what it is may be any. */
export function belowFloor(version: string | undefined, floor: Floor): string | undefined {
  const { what, versions, asOf, why } = floor;
  const found = numbersOf(version ?? "");
  if (!found) return `${what} does not say its version; at least ${versions[0]} is safe (as of ${asOf})`;
  const floors = versions.flatMap((one) => numbersOf(one) ?? []);
  const own = floors.find(({ series }) => series === found.series);
  const newest = Math.max(...floors.map(({ series }) => series));
  const isSafe = own ? found.patch >= own.patch : found.series > newest;
  if (isSafe) return undefined;
  return `${what} ${version} is below ${versions.join(" / ")}: ${why} (as of ${asOf})`;
}

function numbersOf(version: string): { series: number; patch: number } | undefined {
  const [, major, minor, patch] = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(version) ?? [];
  if (major === undefined || minor === undefined) return undefined;
  return { series: Number(major) * 1_000 + Number(minor), patch: Number(patch ?? 0) };
}
