import { type ExecLine, execLineSchema, type ProcessEvent } from "@sandboxer/contract";
import { decodeBase64 } from "./base64.ts";
import { fromJson, rebuild, strange, unreachable } from "./failure.ts";
import type { LineReader } from "./lines.ts";

/** What opens every answer of `exec` and `attach`. */
export async function readStarted(lines: LineReader): Promise<{ process: string; pid?: number | undefined }> {
  const first = await readLine(lines);
  if (first.type === "started") return first;
  throw strange(`the process's answer began with \`${first.type}\``);
}

/** One reader, as with a pipe. Leaving the loop lets go of the answer; the process goes on. */
export function readEvents(lines: LineReader): AsyncIterable<ProcessEvent> {
  let over = false;
  const done = { done: true, value: undefined } as const;
  const iterator: AsyncIterator<ProcessEvent, undefined> = {
    async next() {
      if (over) return done;
      try {
        const event = await readEvent(lines);
        if (event.type === "exit") {
          over = true;
          // Read to the end, so that the connection can be used again.
          while ((await lines.next()) !== undefined);
        }
        return { done: false, value: event };
      } catch (error) {
        // Whoever left the loop while this waited is not told that the answer broke off.
        if (over) return done;
        over = true;
        await lines.cancel();
        throw error;
      }
    },
    async return() {
      over = true;
      await lines.cancel();
      return done;
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

async function readEvent(lines: LineReader): Promise<ProcessEvent> {
  const line = await readLine(lines);
  switch (line.type) {
    case "stdout":
    case "stderr":
      return { type: line.type, offset: line.offset, data: decodeBase64(line.data) };
    case "exit":
      return line;
    case "error":
      throw rebuild(line.error);
    case "started":
      throw strange("the process began twice");
  }
}

async function readLine(lines: LineReader): Promise<ExecLine> {
  let text = await lines.next();
  while (text === "") text = await lines.next();
  if (text === undefined) throw unreachable("the gateway's answer ended before the process did");
  const value = fromJson(text);
  if (isOutput(value)) return value;
  const parsed = execLineSchema.safeParse(value);
  if (!parsed.success)
    throw strange("a line of the answer is in a form this client does not know", parsed.error);
  return parsed.data;
}

/** By hand: output is the hot path, and a schema that looks at every base64 character costs more than the rest. */
function isOutput(value: unknown): value is Extract<ExecLine, { offset: number }> {
  if (typeof value !== "object" || value === null) return false;
  const line = value as Record<string, unknown>;
  return (
    (line.type === "stdout" || line.type === "stderr") &&
    Number.isSafeInteger(line.offset) &&
    typeof line.data === "string"
  );
}
