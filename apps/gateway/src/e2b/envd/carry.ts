import { Buffer } from "node:buffer";
import type { Exit, Process, ProcessEvent } from "@sandboxer/contract";
import { SandboxerError } from "@sandboxer/contract";
import { within } from "../../rest/silence.ts";
import { whenOver } from "../../when-over.ts";
import type { FrameStream } from "./frame.ts";
import { silenceMs } from "./keepalive.ts";
import type { Visit } from "./visit.ts";

/** As Go's `os.Signal` says it, which is what envd passes on. */
const SIGNALS: Readonly<Record<string, string>> = {
  KILL: "killed",
  TERM: "terminated",
  INT: "interrupt",
  HUP: "hangup",
  QUIT: "quit",
  ABRT: "aborted",
  SEGV: "segmentation fault",
};

interface Carrying {
  readonly isTerminal: boolean;
  open(): FrameStream;
  /** When to stop listening; the process goes on. */
  readonly timeoutMs?: number;
}

/** A process as Connect's stream, until it ends or its listener leaves. */
export async function carry(visit: Visit, process: Process, how: Carrying): Promise<void> {
  const { ground, principal, sandbox, outgoing } = visit;
  const release = ground.processes.hold(principal, sandbox.id, process);
  const leave = () => process.detach();
  whenOver(outgoing, leave);
  const untilMs = how.timeoutMs ? Date.now() + how.timeoutMs : Number.POSITIVE_INFINITY;
  try {
    const frames = how.open();
    await frames.send({ event: { start: { pid: process.pid ?? 0 } } });
    for await (const event of kept(process, silenceMs(visit), untilMs)) {
      if (event === undefined) await frames.send({ event: { keepalive: {} } });
      else if (event.type === "exit") await frames.send({ event: { end: endOf(event.exit) } });
      else await frames.send({ event: { data: dataOf(event, how.isTerminal) } });
    }
  } finally {
    outgoing.off("close", leave);
    release();
  }
}

/** What it says, and `undefined` when it has been silent for so long. */
async function* kept(
  process: Process,
  silentMs: number,
  untilMs: number,
): AsyncGenerator<ProcessEvent | undefined> {
  const iterator = process.events[Symbol.asyncIterator]();
  try {
    let waiting = iterator.next();
    for (;;) {
      const leftMs = untilMs - Date.now();
      if (leftMs <= 0) throw tooLong();
      const came = await within(Math.min(silentMs, leftMs), waiting);
      if (!came) {
        if (untilMs - Date.now() > 0) yield undefined;
        continue;
      }
      if (came.done) return;
      yield came.value;
      if (came.value.type === "exit") return;
      waiting = iterator.next();
    }
  } finally {
    process.detach();
  }
}

function dataOf({ type, data }: Extract<ProcessEvent, { data: Uint8Array }>, isTerminal: boolean): object {
  const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
  return { [isTerminal ? "pty" : type]: text };
}

/** Zero is left out, as proto3's JSON has it. */
function endOf(exit: Exit): object {
  if (exit.kind === "timeout") throw tooLong();
  if (exit.kind === "exited") {
    const status = `exit status ${exit.code}`;
    return { exited: true, status, ...(exit.code !== 0 && { exitCode: exit.code, error: status }) };
  }
  const status = `signal: ${SIGNALS[exit.signal] ?? exit.signal}`;
  return { exitCode: -1, status, error: status };
}

function tooLong(): SandboxerError {
  return new SandboxerError("deadline_exceeded", "the process took longer than it was given");
}
