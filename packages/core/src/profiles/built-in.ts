import type { Profile } from "@sandboxer/contract";

/** Small and honest: what they promise is what the host image holds, and `verify` shows whether it does. */
export const BUILT_IN: readonly Profile[] = [
  {
    schema: 1,
    name: "base",
    description: "This machine's programs, an empty home, no network. An hour, a day at most.",
    isolation: "process",
    persistence: "ephemeral",
    network: { egress: "deny" },
    ttlMs: 3_600_000,
    maximumTtlMs: 86_400_000,
    verify: [["sh", "-c", "test -w ~ && test -w /tmp"]],
  },
  {
    schema: 1,
    name: "python",
    description: "base, with Python 3 where this machine has it.",
    extends: "base@1",
    env: { PYTHONUNBUFFERED: "1", PYTHONDONTWRITEBYTECODE: "1" },
    verify: [["python3", "-c", "import sys; sys.exit(sys.version_info < (3, 9))"]],
  },
  {
    schema: 1,
    name: "node",
    description: "base, with Node.js where this machine has it.",
    extends: "base@1",
    env: { NO_UPDATE_NOTIFIER: "1" },
    verify: [["node", "-e", "process.exit(0)"]],
  },
  {
    schema: 1,
    name: "web",
    description: "node, with git, for work on a web project. Four hours, half a day at most.",
    extends: "node@1",
    ttlMs: 14_400_000,
    maximumTtlMs: 43_200_000,
    verify: [
      ["node", "-e", "process.exit(0)"],
      ["git", "--version"],
    ],
  },
];
