import { Buffer } from "node:buffer";
import { setImmediate as immediate } from "node:timers/promises";
import type { ExecLine, Process, ProcessEvent } from "@sandboxer/contract";
import type { Report } from "./failure.ts";
import { LONGEST_SILENCE_MS, within } from "./silence.ts";

/** Enough for one write; past it, what is ready goes out before more is read. */
const BATCH_CHARACTERS = 256 << 10;

/**
 * A process as NDJSON. Pulled, never pushed: when the client reads slowly, nothing reads the
 * process either, and its pipe fills. Lines that are ready together leave in one write.
 */
export function eventStream(
  process: Process,
  report: Report,
  release: () => void,
): ReadableStream<Uint8Array> {
  const iterator = process.events[Symbol.asyncIterator]();
  const pid = process.pid === undefined ? {} : { pid: process.pid };
  let waiting: Promise<IteratorResult<ProcessEvent>> | undefined;
  let batch = "";
  let over = false;

  /** Adds one event's line; says whether more can follow. */
  function add({ done, value }: IteratorResult<ProcessEvent>): void {
    if (done) over = true;
    else batch += value.type === "exit" ? line(value) : outputLine(value);
    if (!done && value.type === "exit") over = true;
  }

  async function gather(): Promise<void> {
    waiting ??= iterator.next();
    const first = await within(LONGEST_SILENCE_MS, waiting);
    if (!first) {
      batch = "\n";
      return;
    }
    add(first);
    while (!over && batch.length < BATCH_CHARACTERS) {
      waiting = iterator.next();
      const next = await Promise.race([waiting, immediate(undefined)]);
      if (!next) return;
      add(next);
    }
    waiting = undefined;
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(Buffer.from(line({ type: "started", process: process.id, ...pid })));
      },
      async pull(controller) {
        await gather().catch((error) => {
          over = true;
          batch += line({ type: "error", error: report(error) });
        });
        if (batch) controller.enqueue(Buffer.from(batch));
        batch = "";
        if (!over) return;
        controller.close();
        release();
        await iterator.return?.();
      },
      cancel() {
        release();
        process.detach();
      },
    },
    { highWaterMark: 0 },
  );
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
