import type { Event } from "@sandboxer/contract";
import type { Report } from "./failure.ts";

const HEARTBEAT_MS = 15_000;

/**
 * Events as server-sent events: `id` is what a reader sends back as Last-Event-ID. A comment now
 * and then keeps whatever sits in between from taking silence for an end.
 */
export function serverSent(
  events: AsyncIterable<Event>,
  report: Report,
  heartbeatMs = HEARTBEAT_MS,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const iterator = events[Symbol.asyncIterator]();
  let hasLeft = false;
  let waiting: Promise<IteratorResult<Event>> | undefined;
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode(": sand-boxer\n\n")),
      async pull(controller) {
        waiting ??= iterator.next();
        try {
          const step = await orSilence(waiting, heartbeatMs);
          if (hasLeft) return;
          if (!step) return controller.enqueue(encoder.encode(": still here\n\n"));
          waiting = undefined;
          if (step.done) controller.close();
          else controller.enqueue(encoder.encode(frame(step.value)));
        } catch (error) {
          if (hasLeft) return;
          const { code, message, hint } = report(error);
          const data = JSON.stringify({ code, message, hint });
          controller.enqueue(encoder.encode(`event: error\ndata: ${data}\n\n`));
          controller.close();
        }
      },
      cancel() {
        hasLeft = true;
        // Not awaited: a quiet log answers only when something happens.
        Promise.resolve(iterator.return?.()).catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}

function frame(event: Event): string {
  return `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The step, or `undefined` when nothing came in time; it is then still waited for. */
async function orSilence<T>(step: Promise<T>, ms: number): Promise<T | undefined> {
  const { promise: silence, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  try {
    return await Promise.race([step, silence]);
  } finally {
    clearTimeout(timer);
  }
}
