import type { Expectation } from "./check.ts";
import { type Facts, hostLimits, hostNamespaces } from "./facts.ts";
import { expectedMounts } from "./mounts.ts";

/** Which process of a sandbox it is. */
export type Role = "first" | "user" | "root" | "terminal";

/** How the engine maps ids: a range for each sandbox, or an ordinary user's one. */
export type Ids = { readonly base: number } | { readonly uid: number; readonly gid: number };

const NONE = "0000000000000000";
/** CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, NET_BIND_SERVICE. */
const FOR_ROOT = "00000000000004fb";
/** The same and SETPCAP, to take capabilities from programs. */
const FOR_FIRST = "00000000000005fb";

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const USER = [
  ...["HOME=/home/user", "LANG=C.UTF-8", "LOGNAME=user", `PATH=${PATH}`, "SHELL=/bin/bash"],
  "USER=user",
];
const ROOT = [
  ...["HOME=/root", "LANG=C.UTF-8", "LOGNAME=root", `PATH=${PATH}`, "SHELL=/bin/sh", "USER=root"],
];

const ENVIRONMENTS: Record<Role, string[]> = {
  first: [],
  user: USER,
  root: ROOT,
  terminal: [...USER, "TERM=xterm-256color"],
};

const DESCRIPTORS: Record<Role, Expectation["descriptors"]> = {
  // What it waits with, its listener, its client and where nothing goes.
  first: {
    most: 16,
    leadTo:
      /^(anon_inode:\[(eventpoll|signalfd)\]|socket:\[\d+\]|\/dev\/null|pipe:\[\d+\]|\/dev\/pts\/ptmx)$/,
  },
  user: { most: 3, leadTo: /^(pipe:\[\d+\]|\/dev\/null)$/ },
  root: { most: 3, leadTo: /^(pipe:\[\d+\]|\/dev\/null)$/ },
  terminal: { most: 3, leadTo: /^\/dev\/pts\/\d+$/ },
};

/** `first` are the facts of the sandbox's first process, whose namespaces the others share. */
export function expectation(role: Role, ids: Ids, first: Facts): Expectation {
  const owned = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"];
  return {
    ...identity(role, ids),
    namespaces: Object.fromEntries(owned.map((name) => [name, first.namespaces[name] ?? "none"])),
    hostNamespaces: hostNamespaces(),
    mounts: expectedMounts(),
    descriptors: DESCRIPTORS[role],
    hostLimits: hostLimits(),
    environment: ENVIRONMENTS[role],
  };
}

type Identity = Pick<Expectation, "uid" | "gid" | "groups" | "capabilities" | "uidMap" | "gidMap">;

function identity(role: Role, ids: Ids): Identity {
  if ("uid" in ids) {
    return {
      uid: ids.uid,
      gid: ids.gid,
      groups: [],
      capabilities: { effective: NONE, bounding: NONE },
      uidMap: `1000 ${ids.uid} 1`,
      gidMap: `1000 ${ids.gid} 1`,
    };
  }
  const map = `0 ${ids.base} 65536`;
  const isUser = role === "user" || role === "terminal";
  const id = ids.base + (isUser ? 1000 : 0);
  const capabilities = {
    first: { effective: FOR_FIRST, bounding: FOR_ROOT },
    root: { effective: FOR_ROOT, bounding: FOR_ROOT },
    user: { effective: NONE, bounding: NONE },
    terminal: { effective: NONE, bounding: NONE },
  }[role];
  return {
    uid: id,
    gid: id,
    groups: role === "first" ? [] : [id],
    capabilities,
    uidMap: map,
    gidMap: map,
  };
}
