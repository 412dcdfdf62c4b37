import { collect } from "../process.ts";
import { bytes, equal, ok, refuses, run, sameBytes, shell, text, until } from "./assert.ts";
import type { Case } from "./subject.ts";

export const execCases: Case[] = [
  {
    name: "keeps stdout and stderr apart",
    async run({ sandbox }) {
      const result = await run(sandbox, ["sh", "-c", "echo out; echo err >&2"]);
      equal([text(result.stdout), text(result.stderr)], ["out\n", "err\n"], "output");
      equal(result.exit, { kind: "exited", code: 0 }, "exit");
    },
  },
  {
    name: "gives a non-zero exit as a result",
    async run({ sandbox }) {
      equal((await run(sandbox, ["sh", "-c", "exit 7"])).exit, { kind: "exited", code: 7 }, "exit");
    },
  },
  {
    name: "names the signal that ended a process",
    async run({ sandbox }) {
      const result = await run(sandbox, ["sh", "-c", "kill -KILL $$"]);
      equal(result.exit, { kind: "signalled", signal: "KILL" }, "exit");
    },
  },
  {
    name: "passes every argument verbatim",
    async run({ sandbox }) {
      const odd = ["", " a  b ", "$(id)", "`id`", "'\"\\", "-n", "two\nlines", "grüße 🌍", "*"];
      const result = await run(sandbox, ["printf", "%s\\0", ...odd]);
      equal(text(result.stdout).split("\0").slice(0, -1), odd, "arguments");
    },
  },
  {
    name: "runs programs that are written at home and below /tmp",
    async run({ sandbox }) {
      const program = "printf '#!/bin/sh\\necho ran\\n' > $at/program; chmod +x $at/program; $at/program";
      const said = await shell(sandbox, `for at in ~ /tmp; do ${program}; done`);
      equal(said, "ran\nran\n", "what both say");
    },
  },
  {
    name: "sets variables and the working directory",
    async run({ sandbox }) {
      const result = await run(sandbox, ["sh", "-c", 'echo "$GREETING"; pwd'], {
        env: { GREETING: "hello = world" },
        cwd: "/tmp",
      });
      equal(text(result.stdout), "hello = world\n/tmp\n", "output");
    },
  },
  {
    name: "starts in the user's home, as an ordinary user",
    async run({ sandbox }) {
      equal(await shell(sandbox, "pwd; id -un; id -u"), "/home/user\nuser\n1000\n", "output");
    },
  },
  {
    name: "reads end-of-file where no input is given",
    async run({ sandbox }) {
      equal(text((await run(sandbox, ["cat"])).stdout), "", "output");
    },
  },
  {
    name: "streams input in and closes it",
    async run({ sandbox }) {
      const process = await sandbox.exec({ argv: ["cat"], stdin: true });
      const whole = collect(process);
      for (const part of ["one ", "two ", "three"]) await process.writeStdin(bytes(part));
      await process.closeStdin();
      equal(text((await whole).stdout), "one two three", "output");
    },
  },
  {
    name: "streams output while the process runs",
    async run({ sandbox }) {
      const process = await sandbox.exec({ argv: ["sh", "-c", "echo early; cat"], stdin: true });
      for await (const event of process.events) {
        if (event.type === "stdout") {
          equal(text(event.data), "early\n", "first output, before the process ended");
          await process.closeStdin();
        }
      }
    },
  },
  {
    name: "carries eight MiB of output without a gap",
    async run({ sandbox }) {
      const process = await sandbox.exec({ argv: ["head", "-c", "8388608", "/dev/zero"] });
      let next = 0;
      for await (const event of process.events) {
        if (event.type === "exit") break;
        equal(event.offset, next, "offset");
        ok(sameBytes(event.data, new Uint8Array(event.data.length)), "a byte changed on the way");
        next += event.data.length;
      }
      equal(next, 8388608, "bytes");
    },
  },
  {
    name: "returns all bytes of a binary stream",
    async run({ sandbox }) {
      const every = Uint8Array.from({ length: 256 }, (_, index) => index);
      const process = await sandbox.exec({ argv: ["cat"], stdin: true });
      const whole = collect(process);
      await process.writeStdin(every);
      await process.closeStdin();
      ok(sameBytes((await whole).stdout, every), "bytes changed on the way");
    },
  },
  {
    name: "ends a process and its children at the timeout",
    async run({ sandbox }) {
      const marker = `4${Math.floor(Math.random() * 1e8)}`;
      const result = await run(sandbox, ["sh", "-c", `sleep ${marker} & sleep ${marker}`], {
        timeoutMs: 300,
      });
      equal(result.exit, { kind: "timeout" }, "exit");
      const survivors = `grep -lsa "^sleep.${marker}" /proc/[0-9]*/cmdline | wc -l`;
      await until("children gone", async () => (await shell(sandbox, survivors)).trim() === "0");
    },
  },
  {
    name: "does not wait for a child that keeps the output open",
    async run({ sandbox }) {
      const result = await run(sandbox, ["sh", "-c", "sleep 60 & echo done"], { timeoutMs: 30_000 });
      equal([text(result.stdout), result.exit], ["done\n", { kind: "exited", code: 0 }], "result");
    },
  },
  {
    name: "sends signals",
    async run({ sandbox }) {
      const process = await sandbox.exec({ argv: ["sleep", "60"] });
      await process.signal("TERM");
      equal((await collect(process)).exit, { kind: "signalled", signal: "TERM" }, "exit");
    },
  },
  {
    name: "keeps a process when its reader leaves, and resumes its output by offset",
    async run({ sandbox }) {
      const script = "echo first; read line; echo second";
      const process = await sandbox.exec({ argv: ["sh", "-c", script], stdin: true });
      for await (const event of process.events) {
        if (event.type === "stdout") break;
      }
      const again = await sandbox.attachProcess(process.id, { stdout: 6 });
      await again.writeStdin(bytes("go\n"));
      const rest = await collect(again);
      equal(text(rest.stdout), "second\n", "output after the offset");
      equal(rest.exit, { kind: "exited", code: 0 }, "exit");
    },
  },
  {
    name: "refuses a program that is not there",
    async run({ sandbox }) {
      await refuses("command_not_found", () => sandbox.exec({ argv: ["no-such-program-here"] }));
      await refuses("command_not_found", () => sandbox.exec({ argv: ["/no/such/program"] }));
    },
  },
  {
    name: "refuses a program that cannot be executed",
    async run({ sandbox }) {
      await refuses("command_not_executable", () => sandbox.exec({ argv: ["/etc/passwd"] }));
    },
  },
  {
    name: "refuses a working directory that is not there",
    async run({ sandbox }) {
      await refuses("path_not_found", () => sandbox.exec({ argv: ["true"], cwd: "/no/such/dir" }));
    },
  },
  {
    name: "UM-4 refuses every user that is not spelled exactly",
    async run({ sandbox }) {
      const odd = ["", " user", "user ", "user:", "0x0", "+0", "1000:", "4294967295", "nobody-here"];
      for (const user of odd) {
        await refuses("no_such_user", () => sandbox.exec({ argv: ["true"], user }));
      }
    },
  },
  {
    name: "runs many processes at once",
    async run({ sandbox }) {
      const numbers = Array.from({ length: 20 }, (_, index) => String(index));
      const results = await Promise.all(numbers.map((n) => run(sandbox, ["echo", n])));
      equal(
        results.map((result) => text(result.stdout).trim()),
        numbers,
        "outputs",
      );
    },
  },
];
