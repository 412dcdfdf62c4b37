import { Buffer } from "node:buffer";
import { setImmediate as immediate } from "node:timers/promises";
import type { ExecLine, Process, ProcessEvent } from "@sandboxer/contract";
import type { Pulled } from "../exchange.ts";
import type { Report } from "./failure.ts";
import { LONGEST_SILENCE_MS, within } from "./silence.ts";

/** Enough for one write; past it, what is ready goes out before more is read. */
const BATCH_CHARACTERS = 256 << 10;
/** Most commands are over by then, and leave in one write together with the answer's head. */
const FIRST_MOMENT_MS = 2;

interface Reader {
  /** Waits for the first line before it goes on, so that gathering more would only delay it. */
  readonly isAwaited: boolean;
  /** Called when the process is no longer read. */
  release(): void;
}

/**
 * A process as NDJSON. Pulled, never pushed: when the client reads slowly, nothing reads the
 * process either, and its pipe fills. Lines that are ready together leave in one write.
 */
export function eventStream(process: Process, report: Report, { isAwaited, release }: Reader): Pulled {
  const iterator = process.events[Symbol.asyncIterator]();
  const pid = process.pid === undefined ? {} : { pid: process.pid };
  let waiting: Promise<IteratorResult<ProcessEvent>> | undefined;
  let batch = line({ type: "started", process: process.id, ...pid });
  let over = false;
  let isFirst = true;
  let isClosed = false;

  /** Adds one event's line; says whether more can follow. */
  function add({ done, value }: IteratorResult<ProcessEvent>): void {
    if (done) over = true;
    else batch += value.type === "exit" ? line(value) : outputLine(value);
    if (!done && value.type === "exit") over = true;
  }

  /** Adds what comes until there is enough for a write, or until `patience` is over. */
  async function gatherUntil(patience: Promise<undefined>): Promise<void> {
    while (!over && batch.length < BATCH_CHARACTERS) {
      waiting ??= iterator.next();
      const next = await Promise.race([waiting, patience]);
      if (!next) return;
      waiting = undefined;
      add(next);
    }
  }

  async function gather(): Promise<void> {
    if (isFirst) {
      isFirst = false;
      return gatherUntil(isAwaited ? immediate(undefined) : moment());
    }
    waiting ??= iterator.next();
    const first = await within(LONGEST_SILENCE_MS, waiting);
    if (!first) {
      batch = "\n";
      return;
    }
    waiting = undefined;
    add(first);
    await gatherUntil(immediate(undefined));
  }

  return {
    async next() {
      if (isClosed) return undefined;
      await gather().catch((error) => {
        over = true;
        batch += line({ type: "error", error: report(error) });
      });
      const bytes = Buffer.from(batch);
      batch = "";
      if (over) {
        isClosed = true;
        release();
        await iterator.return?.();
      }
      return bytes;
    },
    cancel() {
      release();
      process.detach();
    },
  };
}

/** A command that is over sooner keeps nobody up for the rest of it. */
function moment(): Promise<undefined> {
  return new Promise((resolve) => void setTimeout(resolve, FIRST_MOMENT_MS, undefined).unref());
}

function line(value: ExecLine): string {
  return `${JSON.stringify(value)}\n`;
}

/** By hand: base64 has nothing to escape, and this is the hot path. */
function outputLine(event: Extract<ProcessEvent, { data: Uint8Array }>): string {
  const { buffer, byteOffset, byteLength } = event.data;
  const data = Buffer.from(buffer, byteOffset, byteLength).toString("base64");
  return `{"type":"${event.type}","offset":${event.offset},"data":"${data}"}\n`;
}
