import type { Process } from "../process.ts";
import { bytes, equal, ok, refuses, run, text, until } from "./assert.ts";
import type { Case, SubjectSandbox } from "./subject.ts";

const SIZE = { cols: 101, rows: 33 };

/** A process with a terminal, what it has shown so far, and how it ended. */
async function open(sandbox: SubjectSandbox, script: string) {
  const process: Process = await sandbox.exec({ argv: ["sh", "-c", script], stdin: true, pty: SIZE });
  let shown = "";
  const ended = (async () => {
    for await (const event of process.events) {
      if (event.type === "exit") return event.exit;
      shown += text(event.data);
    }
    throw new Error("the terminal's output ended without an exit");
  })();
  ended.catch(() => {});
  const type = (keys: string) => process.writeStdin(bytes(keys));
  const sees = (words: string) => until(`"${words}" in ${shown}`, async () => shown.includes(words));
  return { process, ended, type, sees, shown: () => shown };
}

export const terminalCases: Case[] = [
  {
    name: "gives a terminal of the size asked for",
    async run({ sandbox }) {
      const terminal = await open(sandbox, "test -t 0 && test -t 1 && test -t 2 && tty && stty size");
      equal(await terminal.ended, { kind: "exited", code: 0 }, "exit");
      ok(terminal.shown().includes("33 101"), `size: ${terminal.shown()}`);
      const without = await run(sandbox, ["sh", "-c", "test -t 0 || test -t 1 || echo none"]);
      equal(text(without.stdout), "none\n", "control: without `pty` there is none");
    },
  },
  {
    name: "tells a program when its terminal changes size",
    async run({ sandbox }) {
      const script = "trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done";
      const terminal = await open(sandbox, script);
      await terminal.sees("ready");
      await sandbox.pty.resize(terminal.process.id, { cols: 80, rows: 24 });
      await terminal.sees("24 80");
      await terminal.type("\x03");
      equal(await terminal.ended, { kind: "signalled", signal: "INT" }, "exit");
    },
  },
  {
    name: "echoes, and passes the interrupt key on as a signal",
    async run({ sandbox }) {
      const terminal = await open(sandbox, "echo ready; read line; echo got $line; sleep 60");
      await terminal.sees("ready");
      await terminal.type("keys\r");
      await terminal.sees("keys\r\ngot keys");
      await terminal.type("\x03");
      equal(await terminal.ended, { kind: "signalled", signal: "INT" }, "exit");
    },
  },
  {
    name: "types an end of input when input is closed",
    async run({ sandbox }) {
      const terminal = await open(sandbox, "echo ready; cat; echo over");
      await terminal.sees("ready");
      await terminal.process.closeStdin();
      equal(await terminal.ended, { kind: "exited", code: 0 }, "exit");
      ok(terminal.shown().includes("over"), "cat did not end");
    },
  },
  {
    name: "hangs up on who reads a terminal whose process has ended",
    async run({ sandbox }) {
      // It ends once the child is ready to be told.
      const child = "(trap 'echo hung-up > hup' HUP; sleep 60 & : > armed; wait) &";
      const terminal = await open(sandbox, `rm -f armed; ${child} until [ -e armed ]; do sleep 0.05; done`);
      equal(await terminal.ended, { kind: "exited", code: 0 }, "exit");
      await until("the child was told", async () => {
        const said = await run(sandbox, ["cat", "hup"]);
        return text(said.stdout) === "hung-up\n";
      });
    },
  },
  {
    name: "refuses to resize what has no terminal",
    async run({ sandbox }) {
      const process = await sandbox.exec({ argv: ["sleep", "60"] });
      await refuses("invalid_request", () => sandbox.pty.resize(process.id, SIZE));
      await process.signal("KILL");
      await refuses("not_found", () => sandbox.pty.resize("p999999", SIZE));
      const { pty } = (await sandbox.processes()).find(({ id }) => id === process.id) ?? {};
      equal(pty, false, "listed as");
    },
  },
];
