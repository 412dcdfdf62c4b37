import { homedir, userInfo } from "node:os";
import { join } from "node:path";
import type { Workspace } from "@sandboxer/contract";
import type { MountedWorkspace } from "./root.ts";

/** What runs this machine, or lets one be somebody else on it. */
const OF_THE_SYSTEM = [
  "/etc",
  "/boot",
  "/dev",
  "/proc",
  "/sys",
  "/run",
  "/var/run",
  "/var/run/docker.sock",
  "/var/lib/docker",
  "/var/lib/containerd",
  "/var/spool/cron",
];

/** What makes a person that person elsewhere. */
const OF_A_PERSON = [
  ".aws",
  ".azure",
  ".bash_history",
  ".cargo",
  ".config",
  ".docker",
  ".git-credentials",
  ".gnupg",
  ".kube",
  ".local/share/keyrings",
  ".mozilla",
  ".netrc",
  ".npm",
  ".npmrc",
  ".password-store",
  ".pypirc",
  ".ssh",
  ".zsh_history",
];

/** A workspace may lie in these, but neither be nor hold one. */
const TOO_WIDE = ["/", "/home", "/media", "/mnt", "/opt", "/srv", "/tmp", "/usr", "/var"];

/** boxd compares folders and not names, so neither links nor mounts get around it. */
export function workspaceFor(
  { source, target, mode, allowSensitive }: Workspace,
  ownFolders: readonly string[],
): MountedWorkspace {
  if (allowSensitive) return { source, target, mode, forbidden: [], tooWide: [] };
  const homes = [...new Set([homedir(), userInfo().homedir, process.env.HOME || homedir(), "/root"])];
  return {
    source,
    target,
    mode,
    forbidden: [
      ...OF_THE_SYSTEM,
      ...ownFolders,
      ...homes.flatMap((home) => OF_A_PERSON.map((name) => join(home, name))),
    ],
    tooWide: [...TOO_WIDE, ...homes],
  };
}
