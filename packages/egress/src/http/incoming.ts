import type { Duplex } from "node:stream";
import { BadRequest, bad, type Framing, type Head, MOST_HEAD_BYTES, parseHead } from "./head.ts";

/** Nobody gets to say a head or a line one byte at a time for ever. */
const HEAD_PATIENCE_MS = 15_000;
const MOST_LINE_BYTES = 16;
const NOTHING = Buffer.alloc(0);

/** Bytes of a connection as they are needed, and not before. */
export class Incoming {
  readonly #socket: Duplex;
  #bytes: Buffer = NOTHING;
  #isOver = false;
  #wake: () => void = () => {};

  constructor(socket: Duplex) {
    this.#socket = socket;
    socket.on("readable", () => this.#wake());
    const over = () => {
      this.#isOver = true;
      this.#wake();
    };
    socket.on("end", over).on("close", over).on("error", over);
  }

  /** The next request's head; nothing once the other side has ended. */
  async head(): Promise<Head | undefined> {
    let deadline: number | undefined;
    for (;;) {
      const end = this.#bytes.indexOf("\r\n\r\n");
      if (end >= 0 && end <= MOST_HEAD_BYTES) return parseHead(this.#take(end + 4).subarray(0, end));
      if (this.#bytes.length > MOST_HEAD_BYTES) bad("too long a head");
      if (this.#bytes.length > 0) deadline ??= Date.now() + HEAD_PATIENCE_MS;
      if (await this.#more(deadline)) continue;
      if (this.#bytes.length > 0) bad("half a head");
      return undefined;
    }
  }

  /** A body by its framing. What breaks the framing throws, and what came before is not whole. */
  async *body(framing: Framing): AsyncGenerator<Buffer> {
    if (framing.kind === "length") yield* this.#exactly(framing.bytes);
    if (framing.kind !== "chunked") return;
    for (;;) {
      const size = await this.#line();
      if (!/^[0-9a-f]{1,8}$/i.test(size)) bad("a broken chunk");
      const bytes = Number.parseInt(size, 16);
      if (bytes === 0) break;
      yield* this.#exactly(bytes);
      if ((await this.#line()) !== "") bad("a chunk longer than it says");
    }
    // What would come here are trailers, which servers treat as each of them likes.
    if ((await this.#line()) !== "") bad("trailers");
  }

  /** All that follows the last head, as it comes. */
  async *rest(): AsyncGenerator<Buffer> {
    while (this.#bytes.length > 0 || (await this.#more())) yield this.#take(this.#bytes.length);
  }

  async *#exactly(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0; ) {
      if (this.#bytes.length === 0 && !(await this.#more())) bad("half a body");
      const part = this.#take(Math.min(left, this.#bytes.length));
      left -= part.length;
      if (part.length > 0) yield part;
    }
  }

  async #line(): Promise<string> {
    const deadline = Date.now() + HEAD_PATIENCE_MS;
    for (;;) {
      const end = this.#bytes.indexOf("\r\n");
      if (end >= 0 && end <= MOST_LINE_BYTES) return this.#take(end + 2).toString("latin1", 0, end);
      if (this.#bytes.length > MOST_LINE_BYTES) bad("a broken chunk");
      if (!(await this.#more(deadline))) bad("half a body");
    }
  }

  #take(count: number): Buffer {
    const taken = this.#bytes.subarray(0, count);
    // Even an empty piece would keep the whole of what it is a piece of.
    this.#bytes = count < this.#bytes.length ? this.#bytes.subarray(count) : NOTHING;
    return taken;
  }

  /** False when nothing more will come. */
  async #more(deadline?: number): Promise<boolean> {
    for (;;) {
      const chunk = this.#socket.read() as Buffer | null;
      if (chunk) {
        this.#bytes = this.#bytes.length > 0 ? Buffer.concat([this.#bytes, chunk]) : chunk;
        return true;
      }
      if (this.#isOver) return false;
      await this.#readable(deadline);
    }
  }

  async #readable(deadline: number | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const late = () => reject(new BadRequest("too slow"));
    const timer = deadline === undefined ? undefined : setTimeout(late, Math.max(deadline - Date.now(), 0));
    try {
      await promise;
    } finally {
      clearTimeout(timer);
    }
  }
}
