import { equal, ok, run, shell, text } from "./assert.ts";
import type { Case } from "./subject.ts";

export const isolationCases: Case[] = [
  {
    name: "EG-1 has no network but loopback, and refuses at once",
    async run({ sandbox }) {
      const interfaces = await shell(sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '");
      equal(interfaces, "lo\n", "interfaces");
      const dial = await run(sandbox, ["bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/80"], {
        timeoutMs: 30_000,
      });
      ok(dial.exit.kind === "exited" && dial.exit.code !== 0, "a connection to outside was possible");
    },
  },
  {
    name: "FD-1 gives a process its three streams and nothing more",
    async run({ sandbox }) {
      // The fourth is the listing's own directory handle.
      equal(await shell(sandbox, "ls /proc/self/fd | tr '\\n' ' '"), "0 1 2 3 ", "descriptors");
    },
  },
  {
    name: "CA-1 CA-2 runs without capabilities and cannot gain any",
    async run({ sandbox }) {
      const status = await shell(sandbox, "cat /proc/self/status");
      for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) {
        ok(status.includes(`${set}:\t0000000000000000`), `${set} is not empty: ${status}`);
      }
      ok(status.includes("NoNewPrivs:\t1"), "no_new_privs is off");
    },
  },
  {
    name: "NS-5 cannot write kernel settings",
    async run({ sandbox }) {
      for (const path of ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"]) {
        const result = await run(sandbox, ["sh", "-c", `echo x > ${path}`]);
        ok(result.exit.kind === "exited" && result.exit.code !== 0, `${path} can be written`);
      }
    },
  },
  {
    name: "NS-13 sees only its own processes",
    async run({ sandbox }) {
      const pids = (await shell(sandbox, "ls /proc | grep -c '^[0-9]*$'")).trim();
      ok(Number(pids) < 40, `${pids} processes are visible`);
      const own = text((await run(sandbox, ["sh", "-c", "echo $$"])).stdout).trim();
      ok(Number(own) < 10_000, `the pid ${own} looks like the host's`);
    },
  },
];
