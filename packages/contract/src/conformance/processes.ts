import { collect } from "../process.ts";
import { bytes, equal, ok, refuses, run, shell, text, until } from "./assert.ts";
import type { Case } from "./subject.ts";

export const processCases: Case[] = [
  {
    name: "lists processes that run and those that ended, with what they said",
    async run({ sandbox }) {
      const live = await sandbox.exec({ argv: ["sh", "-c", "echo 123; read x", "marker"], stdin: true });
      const done = await sandbox.exec({ argv: ["sh", "-c", "echo oops >&2; exit 3"] });
      await collect(done);
      await until("both are listed with their output", async () => {
        const all = await sandbox.processes();
        const [one, other] = [live.id, done.id].map((id) => all.find((info) => info.id === id));
        return one?.stdoutBytes === 4 && other?.stderrBytes === 5;
      });
      const all = await sandbox.processes();
      const one = all.find((info) => info.id === live.id);
      equal([one?.argv[3], one?.pty, one?.exit ?? null], ["marker", false, null], "the one that runs");
      ok((one?.startedAtMs ?? 0) > 0, "it has no start");
      const other = all.find((info) => info.id === done.id);
      equal(other?.exit, { kind: "exited", code: 3 }, "the one that ended");
      await live.signal("KILL");
    },
  },
  {
    name: "gives what a process said before to who attaches, also after its end",
    async run({ sandbox }) {
      const process = await sandbox.exec({ argv: ["sh", "-c", "echo out; echo err >&2; exit 5"] });
      await collect(process);
      const again = await collect(await sandbox.attachProcess(process.id));
      equal(
        [text(again.stdout), text(again.stderr), again.exit],
        ["out\n", "err\n", { kind: "exited", code: 5 }],
        "again",
      );
    },
  },
  {
    name: "lets go of a silent process at once, and the process goes on",
    async run({ sandbox }) {
      const process = await sandbox.exec({ argv: ["sh", "-c", "read x; echo $x > let-go"], stdin: true });
      const reading = (async () => {
        for await (const event of process.events) if (event.type === "exit") return "exit";
        return "let go";
      })();
      await new Promise((resolve) => setTimeout(resolve, 50));
      process.detach();
      equal(await reading, "let go", "what the reader saw");
      const again = await sandbox.attachProcess(process.id);
      await again.writeStdin(bytes("on\n"));
      equal((await collect(again)).exit, { kind: "exited", code: 0 }, "exit");
      equal(await shell(sandbox, "cat let-go"), "on\n", "what it wrote");
    },
  },
  {
    name: "RL-8 ends at the timeout what left the group and the session, too",
    async run({ sandbox }) {
      const marker = `5${Math.floor(Math.random() * 1e8)}`;
      const away = `setsid sh -c 'setsid sleep ${marker} & sleep ${marker}' & (sleep ${marker} &)`;
      const survivors = `grep -lsa "^sleep.${marker}" /proc/[0-9]*/cmdline | wc -l`;
      const living = async () => (await shell(sandbox, survivors)).trim();
      // Where a processor is busy or emulated, not all of them may have begun by then: then with more time.
      for (let timeoutMs = 2_000, isSeen = false; !isSeen; timeoutMs *= 3) {
        const process = await sandbox.exec({ argv: ["sh", "-c", `(${away}) & sleep ${marker}`], timeoutMs });
        let isOver = false;
        const exit = collect(process).then((result) => {
          isOver = true;
          return result.exit;
        });
        while (!isOver && !isSeen) isSeen = (await living()) === "4";
        equal(await exit, { kind: "timeout" }, "exit");
        ok(isSeen || timeoutMs < 60_000, "control: all four never lived");
      }
      await until("all gone", async () => (await living()) === "0");
    },
  },
  {
    name: "leaves alone what a process left behind before its timeout",
    async run({ sandbox }) {
      const script = "setsid sleep 61 > /dev/null 2>&1 & echo $!";
      let timeoutMs = 300;
      const leave = () => run(sandbox, ["sh", "-c", script], { timeoutMs });
      let result = await leave();
      // Where a processor is busy, even that little may take longer.
      while (result.exit.kind === "timeout" && timeoutMs < 30_000) {
        timeoutMs *= 5;
        result = await leave();
      }
      equal(result.exit, { kind: "exited", code: 0 }, "exit");
      await new Promise((resolve) => setTimeout(resolve, timeoutMs + 200));
      const pid = text(result.stdout).trim();
      equal(await shell(sandbox, `kill -0 ${pid} && kill -KILL ${pid} && echo lived`), "lived\n", "child");
    },
  },
  {
    name: "a reader that stops reading holds up nobody else",
    async run({ sandbox }) {
      const flood = await sandbox.exec({ argv: ["sh", "-c", "yes & yes >&2"] });
      const stalled = flood.events[Symbol.asyncIterator]();
      await stalled.next();
      const file = await sandbox.files.read("/usr/bin/env");
      await file.data[Symbol.asyncIterator]().next();
      for (let round = 0; round < 5; round++) {
        equal(text((await run(sandbox, ["echo", "here"])).stdout), "here\n", "another process");
      }
      equal(await sandbox.files.write("beside", [bytes("x".repeat(1 << 20))]), 1 << 20, "another file");
      await flood.signal("KILL");
      flood.detach();
    },
  },
  {
    name: "refuses a process that never was",
    async run({ sandbox }) {
      await refuses("not_found", () => sandbox.attachProcess("p999999"));
    },
  },
];
