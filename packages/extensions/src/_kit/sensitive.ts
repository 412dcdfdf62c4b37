import { readFileSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { join, resolve } from "node:path";

export interface Sensitive {
  /** Folders of which a source may be no part, and which may be no part of it. */
  readonly forbidden: readonly string[];
  /** Folders that are too much: a source may be in them, but neither be nor hold them. */
  readonly tooWide: readonly string[];
}

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

/** What no folder that somebody names may have to do with. */
export function sensitivePlaces(ownFolders: readonly string[]): Sensitive {
  const homes = [
    ...new Set([homedir(), ownHome(), process.env.HOME || homedir(), "/root", ...othersHomes()]),
  ];
  return {
    forbidden: [
      ...OF_THE_SYSTEM,
      ...ownFolders,
      ...homes.flatMap((home) => OF_A_PERSON.map((name) => join(home, name))),
    ],
    tooWide: [...TOO_WIDE, ...homes],
  };
}

/** As the machine has it; a user that it does not know has none. */
function ownHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    return homedir();
  }
}

/** Of people, as the machine counts them: what runs as one of them cannot read the others' anyway. */
const FIRST_PERSON_ID = 1000;

function othersHomes(): string[] {
  if (process.getuid?.() !== 0) return [];
  return readPeople().flatMap((line) => {
    const [, , uid, , , home] = line.split(":");
    return Number(uid) >= FIRST_PERSON_ID && home?.startsWith("/") ? resolve(home) : [];
  });
}

function readPeople(): string[] {
  try {
    return readFileSync("/etc/passwd", "utf8").split("\n");
  } catch (error) {
    // A machine that knows nobody has no homes; what cannot be read may hold anybody's.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
