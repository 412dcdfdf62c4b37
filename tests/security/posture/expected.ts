import type { Expectation } from "./check.ts";
import { type Facts, hostLimits, hostNamespaces } from "./facts.ts";
import { expectedMounts } from "./mounts.ts";

/** Which process of a sandbox it is. */
export type Role = "first" | "user" | "root" | "terminal";

/** How the engine maps ids: a range for each sandbox, or an ordinary user's one, and what it is lent. */
export type Ids =
  | { readonly base: number }
  | {
      readonly uid: number;
      readonly gid: number;
      readonly lentFrom?: number;
      /** The ordinary user is `user` inside, not root: with a workspace, whose owner it is. */
      readonly isUserInside?: boolean;
    };

const NONE = "0000000000000000";
/** CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, NET_BIND_SERVICE. */
const FOR_ROOT = "00000000000004fb";
/** The same and SETPCAP, to take capabilities from programs. */
const FOR_FIRST = "00000000000005fb";

const PATH = "/run/boxd/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const USER = [
  ...["HOME=/home/user", "LC_CTYPE=C.UTF-8", "LOGNAME=user", `PATH=${PATH}`, "SHELL=/bin/bash"],
  "USER=user",
];
const ROOT = [
  ...["HOME=/root", "LC_CTYPE=C.UTF-8", "LOGNAME=root", `PATH=${PATH}`, "SHELL=/bin/sh", "USER=root"],
];

const ENVIRONMENTS: Record<Role, string[]> = {
  first: [],
  user: USER,
  root: ROOT,
  terminal: [...USER, "TERM=xterm-256color"],
};

const DESCRIPTORS: Record<Role, Expectation["descriptors"]> = {
  // What it waits with, its listener, its client, where nothing goes, and what was written to its root.
  first: {
    most: 16,
    leadTo:
      /^(anon_inode:\[(eventpoll|signalfd)\]|socket:\[\d+\]|\/dev\/null|pipe:\[\d+\]|\/dev\/pts\/ptmx|mount:\/)$/,
  },
  user: { most: 3, leadTo: /^(pipe:\[\d+\]|\/dev\/null)$/ },
  root: { most: 3, leadTo: /^(pipe:\[\d+\]|\/dev\/null)$/ },
  terminal: { most: 3, leadTo: /^\/dev\/pts\/\d+$/ },
};

/**
 * What was changed in a workspace it finds out by comparing its layer with the folder below it. What
 * that was like before a run lies beside the layer.
 */
const ON_A_WORKSPACE: Expectation["descriptors"] = {
  most: 17,
  leadTo: new RegExp(`${DESCRIPTORS.first.leadTo.source}|^/workspace/upper$`),
};

/** `first` are the facts of the sandbox's first process, whose namespaces the others share. */
export function expectation(role: Role, ids: Ids, first: Facts, workspace?: string): Expectation {
  const owned = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"];
  return {
    ...identity(role, ids),
    namespaces: Object.fromEntries(owned.map((name) => [name, first.namespaces[name] ?? "none"])),
    hostNamespaces: hostNamespaces(),
    mounts: expectedMounts(workspace),
    descriptors: role === "first" && workspace ? ON_A_WORKSPACE : DESCRIPTORS[role],
    devpts: first.devpts,
    hostLimits: hostLimits(),
    environment: ENVIRONMENTS[role],
  };
}

type Identity = Pick<Expectation, "uid" | "gid" | "groups" | "capabilities" | "uidMap" | "gidMap">;

function identity(role: Role, ids: Ids): Identity {
  if ("uid" in ids && ids.lentFrom === undefined) {
    return {
      uid: ids.uid,
      gid: ids.gid,
      groups: [],
      capabilities: { effective: NONE, bounding: NONE },
      uidMap: `1000 ${ids.uid} 1`,
      gidMap: `1000 ${ids.gid} 1`,
    };
  }
  const isUser = role === "user" || role === "terminal";
  const inside = isUser ? 1000 : 0;
  const [uid, gid] = [onHost(ids, "uid", inside), onHost(ids, "gid", inside)];
  const capabilities = {
    first: { effective: FOR_FIRST, bounding: FOR_ROOT },
    root: { effective: FOR_ROOT, bounding: FOR_ROOT },
    user: { effective: NONE, bounding: NONE },
    terminal: { effective: NONE, bounding: NONE },
  }[role];
  return {
    uid,
    gid,
    groups: role === "first" ? [] : [gid],
    capabilities,
    uidMap: mapOf(ids, "uid"),
    gidMap: mapOf(ids, "gid"),
  };
}

function onHost(ids: Ids, kind: "uid" | "gid", inside: number): number {
  if ("base" in ids) return ids.base + inside;
  const { lentFrom = 0, isUserInside } = ids;
  if (isUserInside) return inside === 1000 ? ids[kind] : lentFrom + inside;
  return inside === 0 ? ids[kind] : lentFrom + inside - 1;
}

function mapOf(ids: Ids, kind: "uid" | "gid"): string {
  if ("base" in ids) return `0 ${ids.base} 65536`;
  const { lentFrom = 0, isUserInside } = ids;
  if (!isUserInside) return `0 ${ids[kind]} 1, 1 ${lentFrom} 65535`;
  return `0 ${lentFrom} 1000, 1000 ${ids[kind]} 1, 1001 ${lentFrom + 1000} 64535`;
}
