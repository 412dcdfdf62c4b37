import { randomFillSync } from "node:crypto";

/** What a message is, or what is said between messages. */
export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const KNOWN: ReadonlySet<number> = new Set(Object.values(OPCODES));
const MOST_CONTROL_BYTES = 125;

/** Not as the standard has it: what may be read in two ways is not read at all. */
export class BadFrame extends Error {}

export interface FrameHead {
  readonly opcode: number;
  readonly isLast: boolean;
  readonly bytes: number;
  readonly mask: Buffer | undefined;
}

export const isControl = ({ opcode }: Pick<FrameHead, "opcode">): boolean => opcode >= OPCODES.close;

/** Frames of one direction. Whoever asks masks what it sends, and whoever answers does not. */
export class Frames {
  readonly #source: AsyncIterator<Buffer>;
  readonly #isMasked: boolean;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterator<Buffer>, isMasked: boolean) {
    this.#source = source;
    this.#isMasked = isMasked;
  }

  /** Nothing once the other side has ended. */
  async head(): Promise<FrameHead | undefined> {
    if (this.#held.length === 0 && !(await this.#more())) return undefined;
    const [first = 0, second = 0] = await this.#exactly(2);
    const opcode = first & 0x0f;
    const isLast = (first & 0x80) !== 0;
    if ((first & 0x70) !== 0) throw new BadFrame("of an extension that nobody agreed on");
    if (!KNOWN.has(opcode)) throw new BadFrame("of no known kind");
    if (((second & 0x80) !== 0) !== this.#isMasked) throw new BadFrame("masked as the other side masks");
    const bytes = await this.#length(second & 0x7f);
    if (isControl({ opcode }) && (!isLast || bytes > MOST_CONTROL_BYTES)) {
      throw new BadFrame("too long, or in pieces, for what it is");
    }
    return { opcode, isLast, bytes, mask: this.#isMasked ? await this.#exactly(4) : undefined };
  }

  async *payload({ bytes, mask }: FrameHead): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes; ) {
      if (this.#held.length === 0 && !(await this.#more())) throw new BadFrame("that breaks off");
      const part = this.#take(Math.min(bytes - at, this.#held.length));
      yield mask ? masked(part, mask, at) : part;
      at += part.length;
    }
  }

  async whole(head: FrameHead): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.payload(head)) parts.push(part);
    return Buffer.concat(parts);
  }

  /** Said in the shortest way, or it could be said in several. */
  async #length(said: number): Promise<number> {
    if (said < 126) return said;
    const bytes = await this.#exactly(said === 126 ? 2 : 8);
    const length = said === 126 ? bytes.readUInt16BE() : Number(bytes.readBigUInt64BE());
    if (length < (said === 126 ? 126 : 65_536)) throw new BadFrame("with its length said at length");
    if (!Number.isSafeInteger(length)) throw new BadFrame("too long");
    return length;
  }

  async #exactly(count: number): Promise<Buffer> {
    while (this.#held.length < count) if (!(await this.#more())) throw new BadFrame("that breaks off");
    return this.#take(count);
  }

  #take(count: number): Buffer {
    const taken = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    return taken;
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#source.next();
    if (done) return false;
    this.#held = this.#held.length > 0 ? Buffer.concat([this.#held, value]) : value;
    return true;
  }
}

/** A frame to be sent; one that is to be masked gets a mask of its own. */
export function frameOf(opcode: number, isLast: boolean, payload: Buffer, isMasked: boolean): Buffer {
  const { length } = payload;
  const first = (isLast ? 0x80 : 0) | opcode;
  const bit = isMasked ? 0x80 : 0;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = first;
  head[1] = bit | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  if (!isMasked) return Buffer.concat([head, payload]);
  const mask = randomFillSync(Buffer.alloc(4));
  return Buffer.concat([head, mask, masked(payload, mask, 0)]);
}

function masked(part: Buffer, mask: Buffer, at: number): Buffer {
  const done = Buffer.allocUnsafe(part.length);
  for (let index = 0; index < part.length; index++) {
    done[index] = (part[index] as number) ^ (mask[(at + index) & 3] as number);
  }
  return done;
}
