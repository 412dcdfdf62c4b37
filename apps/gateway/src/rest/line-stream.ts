import { Buffer } from "node:buffer";
import type { Report } from "./failure.ts";
import { LONGEST_SILENCE_MS, within } from "./silence.ts";

/** Values as NDJSON, one a line as they come; an empty line when none has come for a while. */
export function lineStream(
  source: AsyncIterable<unknown>,
  report: Report,
  leave: () => void,
): ReadableStream<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]();
  let waiting: Promise<IteratorResult<unknown>> | undefined;

  async function next(): Promise<{ text: string; isLast: boolean }> {
    try {
      waiting ??= iterator.next();
      const came = await within(LONGEST_SILENCE_MS, waiting);
      if (!came) return { text: "\n", isLast: false };
      waiting = undefined;
      return came.done
        ? { text: "", isLast: true }
        : { text: `${JSON.stringify(came.value)}\n`, isLast: false };
    } catch (error) {
      return { text: `${JSON.stringify({ type: "error", error: report(error) })}\n`, isLast: true };
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      // Says at once that it has begun, so that a client may rely on it.
      start: (controller) => controller.enqueue(Buffer.from("\n")),
      async pull(controller) {
        const { text, isLast } = await next();
        if (text) controller.enqueue(Buffer.from(text));
        if (isLast) controller.close();
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
}
