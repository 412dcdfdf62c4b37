/** A program that is run in a guest. */
export interface GuestSuite {
  readonly name: string;
  /** One command of the guest's shell, started in /given. */
  readonly command: string;
}

export interface SuiteReport {
  /** Absent where the guest ended first. */
  readonly status?: number;
  readonly seconds?: number;
  readonly lines: readonly string[];
}

/**
 * Who runs a command: root, a user whom nobody has given a control group, or one who has been given
 * a part of the tree, as systemd does for `Delegate=yes`.
 */
export const AS = {
  root: (command: string) => command,
  user: (command: string) => `setpriv --reuid 1000 --regid 1000 --clear-groups ${command}`,
  delegated: (command: string) =>
    `sh -c 'echo 0 > /sys/fs/cgroup/user/session/cgroup.procs; exec ${AS.user(command)}'`,
} as const;

export type Posture = keyof typeof AS;

/** A script for `inGuest` that runs them in turn and marks every line with the suite it is from. */
export function suitesScript(suites: readonly GuestSuite[]): string {
  return [PREPARE, ...suites.map(({ name, command }) => `suite ${name} ${command}`)].join("\n");
}

export function readSuites(report: string): ReadonlyMap<string, SuiteReport> {
  const suites = new Map<string, { status?: number; seconds?: number; lines: string[] }>();
  for (const line of report.split("\n")) {
    const [, name = "", text = ""] = /^@(\S+) (.*)$/.exec(line) ?? [];
    if (!name) continue;
    const suite = suites.get(name) ?? { lines: [] };
    suites.set(name, suite);
    const end = /^ended with (\d+) after (\d+) s$/.exec(text);
    if (end) Object.assign(suite, { status: Number(end[1]), seconds: Number(end[2]) });
    else suite.lines.push(text);
  }
  return suites;
}

const PREPARE = `
cd /sys/fs/cgroup
echo '+cpu +memory +pids' > cgroup.subtree_control
mkdir user
echo '+cpu +memory +pids' > user/cgroup.subtree_control
mkdir user/session
chown 1000:1000 user/session user/session/cgroup.procs user/session/cgroup.subtree_control user/session/cgroup.threads
cd /given
suite() {
  name=$1; shift
  { start=$(cut -d. -f1 /proc/uptime)
    "$@" 2>&1
    status=$?
    echo "ended with $status after $(($(cut -d. -f1 /proc/uptime) - start)) s"
  } | sed -u "s/^/@$name /"
}
export TMPDIR=/tmp SANDBOXER_BOXD=/given/boxd`;
