import { concatenate } from "@sandboxer/contract";
import { strange, unreachable } from "./failure.ts";

const NEWLINE = 10;
/** The gateway's lines carry at most 64 KiB of output; a longer line is not the gateway's. */
const MAXIMUM_LINE_BYTES = 4 << 20;

/** Reads a body line by line. Lines are cut as bytes, so no character is ever split. */
export class LineReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #chunk: Uint8Array = new Uint8Array();
  #at = 0;
  #begun: Uint8Array[] = [];
  #begunBytes = 0;

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
  }

  /** The next line without its newline; `undefined` at the end. */
  async next(): Promise<string | undefined> {
    for (;;) {
      const end = this.#chunk.indexOf(NEWLINE, this.#at);
      if (end >= 0) {
        const line = this.#take(end);
        this.#at = end + 1;
        return line;
      }
      this.#keep(this.#chunk.subarray(this.#at));
      const { done, value } = await this.#read();
      this.#chunk = value ?? new Uint8Array();
      this.#at = 0;
      if (done) return this.#begunBytes > 0 ? this.#take(0) : undefined;
    }
  }

  /** Lets go of the body; a waiting `next` ends. */
  async cancel(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
  }

  async #read() {
    try {
      return await this.#reader.read();
    } catch (cause) {
      throw unreachable("the gateway's answer broke off", cause);
    }
  }

  #take(end: number): string {
    const rest = this.#chunk.subarray(this.#at, end);
    if (this.#begunBytes === 0) return this.#decoder.decode(rest);
    const line = concatenate([...this.#begun, rest]);
    this.#begun = [];
    this.#begunBytes = 0;
    return this.#decoder.decode(line);
  }

  #keep(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#begun.push(part);
    this.#begunBytes += part.length;
    if (this.#begunBytes > MAXIMUM_LINE_BYTES) throw strange("a line of the answer is too long");
  }
}
