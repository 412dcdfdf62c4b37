import type { NetworkRule } from "@sandboxer/contract";
import { beyond, LISTS } from "../policy/covers.ts";

const PORTS = { https: [443], http: [80], tcp: [] as number[] } as const;
const READING = ["GET", "HEAD", "OPTIONS"];
const WRITING = [...READING, "POST", "PUT", "PATCH", "DELETE"];

/** Whether all that one rule lets through, another does too. Pure; where that cannot be told, it does not. */
export function isWithin(narrow: NetworkRule, wide: NetworkRule): boolean {
  if (narrow.protocol !== wide.protocol || narrow.cidrs?.length) return false;
  if (wide.binaries && !isSubset(narrow.binaries, wide.binaries)) return false;
  if (beyond(LISTS.network, [wide.host], [narrow.host]).length > 0) return false;
  if (!isSubset(narrow.ports ?? PORTS[narrow.protocol], wide.ports ?? PORTS[wide.protocol])) return false;
  const [methods, allowed] = [methodsOf(narrow), methodsOf(wide)];
  if (allowed && !isSubset(methods, allowed)) return false;
  if (wide.paths && !isSubset(narrow.paths, wide.paths)) return false;
  return Object.entries(wide.query ?? {}).every(([name, value]) => narrow.query?.[name] === value);
}

function isSubset<T>(some: readonly T[] | undefined, all: readonly T[]): boolean {
  return some?.every((one) => all.includes(one)) ?? false;
}

function methodsOf({ access, methods }: NetworkRule): readonly string[] | undefined {
  const preset = access && (access === "read-only" ? READING : WRITING);
  return preset && methods ? methods.filter((one) => preset.includes(one)) : (preset ?? methods);
}
