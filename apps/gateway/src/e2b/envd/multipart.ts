import { Buffer } from "node:buffer";
import { SandboxerError } from "@sandboxer/contract";

const MAXIMUM_HEAD_BYTES = 16 << 10;
const MOST_PARTS = 1_000;
const LINE_END = Buffer.from("\r\n\r\n");

export interface Part {
  readonly name: string;
  /** With its folders: E2B's clients put the whole path there. */
  readonly filename: string | undefined;
  readonly content: AsyncIterable<Uint8Array>;
}

export function boundaryOf(contentType: string): string | undefined {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i.exec(contentType) ?? [];
  return quoted ?? plain;
}

/**
 * The parts of a form as they come, each read only as fast as it is taken. A part that is left
 * early is read to its end, so that the next can be found.
 */
export async function* partsOf(source: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<Part> {
  const from = source[Symbol.asyncIterator]();
  const mark = Buffer.from(`\r\n--${boundary}`);
  // The first mark has no line before it.
  let buffer: Buffer = Buffer.from("\r\n");

  const more = async (): Promise<void> => {
    const { done, value } = await from.next();
    if (done) throw broken("it is cut off");
    buffer =
      buffer.length === 0
        ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
        : Buffer.concat([buffer, value]);
  };
  async function* upToMark(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const at = buffer.indexOf(mark);
      if (at >= 0) {
        const last = buffer.subarray(0, at);
        buffer = buffer.subarray(at + mark.length);
        if (last.length > 0) yield last;
        return;
      }
      // What may be the beginning of a mark waits for the rest of it.
      const safe = buffer.length - mark.length + 1;
      if (safe > 0) {
        const ready = buffer.subarray(0, safe);
        buffer = Buffer.from(buffer.subarray(safe));
        yield ready;
      }
      await more();
    }
  }
  const skip = async (content: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const _ of content);
  };

  await skip(upToMark());
  for (let count = 0; ; count++) {
    while (buffer.length < 2) await more();
    if (buffer.subarray(0, 2).toString("latin1") === "--") return;
    if (count === MOST_PARTS) throw broken(`it has more than ${MOST_PARTS} parts`);
    while (!buffer.includes(LINE_END)) {
      if (buffer.length > MAXIMUM_HEAD_BYTES) throw broken("a part's head is too long");
      await more();
    }
    const at = buffer.indexOf(LINE_END);
    const head = buffer.subarray(0, at).toString("utf8");
    // The mark's own line end comes first, so that an empty part has one too.
    buffer = Buffer.concat([Buffer.from("\r\n"), buffer.subarray(at + LINE_END.length)]);
    const content = withoutFirstLineEnd(upToMark());
    yield { ...namesIn(head), content };
    await skip(content);
  }
}

async function* withoutFirstLineEnd(content: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left = 2;
  for (;;) {
    const { done, value } = await content.next();
    if (done) return;
    const rest = left > 0 ? value.subarray(left) : value;
    left = Math.max(0, left - value.length);
    if (rest.length > 0) yield rest;
  }
}

function namesIn(head: string): { name: string; filename: string | undefined } {
  const line = /^content-disposition:\s*form-data(.*)$/im.exec(head)?.[1];
  if (line === undefined) throw broken("a part has no name");
  const name = /;\s*name="((?:[^"\\]|\\.)*)"/i.exec(line)?.[1] ?? "";
  const filename = /;\s*filename="((?:[^"\\]|\\.)*)"/i.exec(line)?.[1];
  return { name: plain(name), filename: filename === undefined ? undefined : plain(filename) };
}

/** Browsers and undici write quotes and line ends so. */
function plain(text: string): string {
  return text
    .replace(/%22/g, '"')
    .replace(/%0D/gi, "\r")
    .replace(/%0A/gi, "\n")
    .replace(/\\(["\\])/g, "$1");
}

function broken(why: string): SandboxerError {
  return new SandboxerError("invalid_request", `the form is broken: ${why}`);
}
