import type { Facts, MountFacts } from "./facts.ts";

/** The one posture a process may have. Equal is right; descriptors and limits may be less, never more. */
export interface Expectation {
  /** Its four user ids, on the host. */
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
  /** Permitted and effective; bounding; inheritable and ambient are empty, always. */
  readonly capabilities: { readonly effective: string; readonly bounding: string };
  readonly uidMap: string;
  readonly gidMap: string;
  /** The sandbox's own, which are none of the host's. */
  readonly namespaces: Readonly<Record<string, string>>;
  readonly hostNamespaces: Readonly<Record<string, string>>;
  /** The only mounts; a type of `*` is whatever the host's file system is. */
  readonly mounts: readonly MountFacts[];
  readonly descriptors: { readonly most: number; readonly leadTo: RegExp };
  /** The sandbox's own instance of devpts, where every terminal must be from. */
  readonly devpts: number;
  /** The limits of whoever started the engine. */
  readonly hostLimits: Facts["limits"];
  readonly environment: readonly string[];
}

export type Check =
  | "users"
  | "groups"
  | "capabilities"
  | "new-privileges"
  | "filter"
  | "id-map"
  | "namespaces"
  | "mounts"
  | "descriptors"
  | "terminal"
  | "limits"
  | "environment";

export interface Finding {
  readonly check: Check;
  readonly says: string;
}

const NONE = "0000000000000000";

/** Every way in which a process differs from what it must be. Pure, so that faults can be planted. */
export function findings(facts: Facts, expected: Expectation): Finding[] {
  const found: Finding[] = [];
  const compare = (check: Check, what: string, is: unknown, shouldBe: unknown): void => {
    const [left, right] = [JSON.stringify(is), JSON.stringify(shouldBe)];
    if (left !== right) found.push({ check, says: `${what} is ${left}, not ${right}` });
  };
  if (facts.threads.length === 0) found.push({ check: "users", says: "no thread was seen" });
  for (const [index, status] of facts.threads.entries()) {
    const of = (name: string): string => `${name} of thread ${index}`;
    compare("users", of("Uid"), status.Uid, Array(4).fill(expected.uid).join(" "));
    compare("users", of("Gid"), status.Gid, Array(4).fill(expected.gid).join(" "));
    compare("groups", of("Groups"), status.Groups, expected.groups.join(" "));
    const { effective, bounding } = expected.capabilities;
    const sets = { CapInh: NONE, CapPrm: effective, CapEff: effective, CapBnd: bounding, CapAmb: NONE };
    for (const [name, set] of Object.entries(sets)) compare("capabilities", of(name), status[name], set);
    compare("new-privileges", of("NoNewPrivs"), status.NoNewPrivs, "1");
    compare("filter", of("Seccomp"), status.Seccomp, "2");
    compare("filter", of("Seccomp_filters"), status.Seccomp_filters ?? "1", "1");
  }
  compare("id-map", "uid_map", facts.uidMap, expected.uidMap);
  compare("id-map", "gid_map", facts.gidMap, expected.gidMap);
  for (const [name, namespace] of Object.entries(expected.namespaces)) {
    compare("namespaces", name, facts.namespaces[name], namespace);
    if (namespace === expected.hostNamespaces[name]) {
      found.push({ check: "namespaces", says: `${name} is the host's` });
    }
  }
  found.push(...mountFindings(facts.mounts, expected.mounts));
  for (const [descriptor, target] of Object.entries(facts.descriptors)) {
    if (!expected.descriptors.leadTo.test(target)) {
      found.push({ check: "descriptors", says: `${descriptor} leads to ${target}` });
    }
  }
  for (const device of facts.terminals) compare("terminal", "a terminal's devpts", device, expected.devpts);
  const count = Object.keys(facts.descriptors).length;
  if (count > expected.descriptors.most) found.push({ check: "descriptors", says: `${count} are open` });
  found.push(...limitFindings(facts.limits, expected.hostLimits));
  compare("environment", "environ", facts.environment, expected.environment.toSorted());
  return found;
}

function mountFindings(mounts: readonly MountFacts[], expected: readonly MountFacts[]): Finding[] {
  const says = (text: string): Finding => ({ check: "mounts", says: text });
  const found = mounts
    .filter((mount) => mount.propagation !== "")
    .map((mount) => says(`${mount.path} is ${mount.propagation}`));
  const spell = ({ path, type, flags }: MountFacts): string => `${path} ${type} ${flags.join(",")}`;
  const isAt = (mount: MountFacts) => (other: MountFacts) =>
    spell(other) === spell(mount) || spell(other) === spell({ ...mount, type: "*" });
  const left = [...expected];
  for (const mount of mounts) {
    const at = left.findIndex(isAt(mount));
    if (at < 0) found.push(says(`${spell(mount)} is not expected`));
    else left.splice(at, 1);
  }
  return [...found, ...left.map((mount) => says(`${spell(mount)} is missing`))];
}

function limitFindings(limits: Facts["limits"], host: Facts["limits"]): Finding[] {
  const amount = (limit?: string): number => (limit === "unlimited" ? Infinity : Number(limit));
  const found: Finding[] = [];
  // One byte: with none at all, the kernel still runs a program of the host that takes the dump.
  const coreBytes = 1;
  for (const [name, [, most]] of Object.entries(host)) {
    const [soft, hard] = limits[name] ?? ["none", "none"];
    const cap = name === "Max core file size" ? coreBytes : amount(most);
    if (!(amount(hard) <= cap && amount(soft) <= cap)) {
      found.push({ check: "limits", says: `${name} is ${soft} and ${hard}` });
    }
  }
  return found;
}
