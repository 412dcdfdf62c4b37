import type { Duplex } from "node:stream";
import { SandboxerError } from "@sandboxer/contract";
import { FrameDecoder } from "./decode.ts";
import { fromFailure } from "./failure.ts";
import {
  type Channel,
  encodeDataHeader,
  encodeFrame,
  type Frame,
  MAXIMUM_DATA_BYTES,
  ProtocolError,
} from "./frame.ts";
import { Stream, type Wire } from "./stream.ts";

type Json = Readonly<Record<string, unknown>>;

/** From here on copying costs more than a second piece of one write does. */
const UNCOPIED_BYTES = 4_096;

/** Many streams over one byte stream to boxd. The first malformed frame ends it. */
export class Connection {
  readonly #socket: Duplex;
  readonly #streams = new Map<number, Stream>();
  readonly #decoder = new FrameDecoder();
  readonly #hello = Promise.withResolvers<Json>();
  readonly #closed = Promise.withResolvers<void>();
  readonly #explainClose: () => Promise<SandboxerError>;
  #nextId = 1;
  #over = false;
  #isGreeted = false;

  /** `explainClose` says, once the connection is gone, what that means for those still waiting. */
  constructor(socket: Duplex, explainClose: () => Promise<SandboxerError>) {
    this.#socket = socket;
    this.#explainClose = explainClose;
    this.#hello.promise.catch(() => {});
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => void this.#close());
  }

  /** The peer's first frame. */
  get hello(): Promise<Json> {
    return this.#hello.promise;
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** Starts an operation. Its answer is awaited through the stream. */
  async open(op: string, members: Json): Promise<Stream> {
    if (this.#over) throw await this.#explainClose();
    const stream = new Stream(this.#nextId++, this.#wire);
    this.#streams.set(stream.id, stream);
    try {
      this.#send({ kind: "OPEN", stream: stream.id, json: { op, ...members } });
    } catch (cause) {
      this.#streams.delete(stream.id);
      throw new SandboxerError("payload_too_large", "arguments and variables exceed 1 MiB", { cause });
    }
    return stream;
  }

  /** An operation whose only answer is its END. */
  async call(op: string, members: Json = {}): Promise<Json> {
    return (await this.open(op, members)).reply;
  }

  close(): void {
    this.#socket.destroy();
  }

  readonly #wire: Wire = {
    send: (frame) => this.#send(frame),
    sendData: (stream, channel, data) => {
      if (data.length >= UNCOPIED_BYTES) return this.#sendUncopied(stream, channel, data);
      return this.#send({ kind: "DATA", stream, channel, data });
    },
    forget: (stream) => void this.#streams.delete(stream),
  };

  #send(frame: Frame): Promise<void> | undefined {
    if (this.#over || this.#socket.write(encodeFrame(frame))) return undefined;
    return new Promise((resolve) => {
      const done = () => {
        this.#socket.off("drain", done).off("close", done);
        resolve();
      };
      this.#socket.on("drain", done).on("close", done);
    });
  }

  /** Done when the bytes are out, since until then they must stay as they are. */
  #sendUncopied(stream: number, channel: Channel, data: Uint8Array): Promise<void> | undefined {
    if (this.#over) return undefined;
    return new Promise((resolve) => {
      this.#socket.cork();
      for (let at = 0; at < data.length; at += MAXIMUM_DATA_BYTES) {
        const part = data.subarray(at, at + MAXIMUM_DATA_BYTES);
        this.#socket.write(encodeDataHeader(stream, channel, part.length));
        // A socket that is destroyed calls back, too.
        this.#socket.write(part, at + part.length === data.length ? () => resolve() : undefined);
      }
      this.#socket.uncork();
    });
  }

  #take(chunk: Buffer): void {
    try {
      for (const frame of this.#decoder.push(chunk)) this.#dispatch(frame);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#socket.destroy();
    }
  }

  #dispatch(frame: Frame): void {
    if (frame.kind === "HELLO") return this.#greet(frame.json);
    if (frame.kind === "PING") return void this.#send({ ...frame, kind: "PONG" });
    const stream = this.#streams.get(frame.stream);
    if (frame.kind === "FAIL") return stream?.fail(fromFailure(frame.json));
    stream?.take(frame);
  }

  #greet(hello: Json): void {
    this.#isGreeted = true;
    this.#hello.resolve(hello);
  }

  async #close(): Promise<void> {
    this.#over = true;
    // Asking takes a while, and most connections close when nobody waits for anything.
    if (!this.#isGreeted || this.#streams.size > 0) {
      const error = await this.#explainClose();
      this.#hello.reject(error);
      for (const stream of [...this.#streams.values()]) stream.fail(error);
    }
    this.#closed.resolve();
  }
}
