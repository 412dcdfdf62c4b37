import { SandboxerError } from "@sandboxer/contract";
import { type Channel, type Frame, INITIAL_CREDIT_BYTES, ProtocolError } from "./frame.ts";

type Json = Readonly<Record<string, unknown>>;

/** As much of one wide stream is held here at most. */
const WIDE_CREDIT_BYTES = 524_288;

export type StreamItem =
  | { readonly type: "data"; readonly channel: Channel; readonly data: Uint8Array }
  | { readonly type: "eof"; readonly channel: Channel }
  | { readonly type: "end"; readonly result: Json }
  /** Our own doing: `cancel` was called while somebody waited. */
  | { readonly type: "cancelled" };

/** What a stream needs of the connection it runs on. */
export interface Wire {
  /** Resolves when the socket can take more. */
  send(frame: Frame): Promise<void> | undefined;
  /** The same for bytes of any length, in as few writes as can be. */
  sendData(stream: number, channel: Channel, data: Uint8Array): Promise<void> | undefined;
  forget(stream: number): void;
}

/**
 * One operation under way. Items queue until they are read; the peer may have no more bytes on
 * the way than its credit, and credit is given back only as items are read, so the queue is bounded.
 */
export class Stream {
  readonly id: number;
  readonly #wire: Wire;
  readonly #items: StreamItem[] = [];
  #waiting: { resolve(): void } | undefined;
  #reply = Promise.withResolvers<Json>();
  #failure: SandboxerError | undefined;
  #over = false;
  #cancelled = false;
  /** Bytes we may still send. */
  #credit = INITIAL_CREDIT_BYTES;
  #creditWaiters: (() => void)[] = [];
  /** Bytes the peer may still send, and bytes read but not yet given back. */
  #peerCredit = INITIAL_CREDIT_BYTES;
  #toReturn = 0;
  /** Credit goes back in large steps: one WINDOW for many small reads. */
  #step = INITIAL_CREDIT_BYTES / 2;

  constructor(id: number, wire: Wire) {
    this.id = id;
    this.#wire = wire;
    this.#reply.promise.catch(() => {});
  }

  /** The REPLY; or, for an operation that only ends, its END. */
  get reply(): Promise<Json> {
    return this.#reply.promise;
  }

  /** The next item; throws what the peer answered with FAIL, or what ended the connection. */
  async next(): Promise<StreamItem> {
    for (;;) {
      const item = this.#items.shift();
      if (item) {
        if (item.type === "data") this.#giveBack(item.data.length);
        return item;
      }
      if (this.#failure) throw this.#failure;
      if (this.#cancelled) return { type: "cancelled" };
      if (this.#over) throw new SandboxerError("internal", "read past the end of a stream");
      await new Promise<void>((resolve) => {
        this.#waiting = { resolve };
      });
    }
  }

  /** The peer may have more on the way than it began with: for much that is read as fast as it comes. */
  widen(): void {
    if (this.#over) return;
    const more = WIDE_CREDIT_BYTES - INITIAL_CREDIT_BYTES;
    this.#step = WIDE_CREDIT_BYTES / 2;
    this.#peerCredit += more;
    this.#wire.send({ kind: "WINDOW", stream: this.id, credit: more });
  }

  async send(channel: Channel, data: Uint8Array): Promise<void> {
    for (let at = 0; at < data.length; ) {
      while (this.#credit === 0 && !this.#over) {
        await new Promise<void>((resolve) => this.#creditWaiters.push(resolve));
      }
      if (this.#over)
        throw this.#failure ?? new SandboxerError("invalid_state", "nobody reads this any more");
      const part = data.subarray(at, at + this.#credit);
      this.#credit -= part.length;
      at += part.length;
      await this.#wire.sendData(this.id, channel, part);
    }
  }

  async sendEof(channel: Channel): Promise<void> {
    if (!this.#over) await this.#wire.send({ kind: "EOF", stream: this.id, channel });
  }

  cancel(): void {
    if (this.#over) return;
    this.#cancelled = true;
    this.#items.length = 0;
    this.#wire.send({ kind: "CANCEL", stream: this.id });
    this.#finish();
  }

  /** Called by the connection for every frame of this stream. */
  take(frame: Frame): void {
    switch (frame.kind) {
      case "REPLY":
        return this.#reply.resolve(frame.json);
      case "DATA":
        this.#peerCredit -= frame.data.length;
        if (this.#peerCredit < 0) throw new ProtocolError("DATA beyond the credit");
        return this.#queue({ type: "data", channel: frame.channel, data: frame.data });
      case "EOF":
        return this.#queue({ type: "eof", channel: frame.channel });
      case "WINDOW":
        this.#credit += frame.credit;
        for (const wake of this.#creditWaiters.splice(0)) wake();
        return;
      case "END":
        this.#reply.resolve(frame.json);
        this.#queue({ type: "end", result: frame.json });
        return this.#finish();
      default:
        throw new ProtocolError(`${frame.kind} from the wrong side`);
    }
  }

  fail(error: SandboxerError): void {
    this.#failure = error;
    this.#reply.reject(error);
    this.#finish();
  }

  #queue(item: StreamItem): void {
    this.#items.push(item);
    this.#wake();
  }

  #finish(): void {
    this.#over = true;
    this.#wire.forget(this.id);
    for (const wake of this.#creditWaiters.splice(0)) wake();
    this.#wake();
  }

  #wake(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }

  #giveBack(bytes: number): void {
    this.#toReturn += bytes;
    if (this.#over || this.#toReturn < this.#step) return;
    this.#peerCredit += this.#toReturn;
    this.#wire.send({ kind: "WINDOW", stream: this.id, credit: this.#toReturn });
    this.#toReturn = 0;
  }
}
