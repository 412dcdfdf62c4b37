/** What is not as it should be ends the conversation. */
export class Malformed extends Error {}

/** Numbers and strings as SSH writes them: the length first, then so many bytes. */
export class Reader {
  #rest: Buffer;

  constructor(bytes: Buffer) {
    this.#rest = bytes;
  }

  byte(): number {
    return this.#take(1).readUInt8();
  }

  number(): number {
    return this.#take(4).readUInt32BE();
  }

  string(): Buffer {
    return this.#take(this.number());
  }

  text(): string {
    return this.string().toString("latin1");
  }

  /** A number of any length, without the zero that says it is not negative. */
  integer(): Buffer {
    const bytes = this.string();
    return bytes[0] === 0 ? bytes.subarray(1) : bytes;
  }

  exactly(count: number): Buffer {
    return this.#take(count);
  }

  /** Nothing may follow: what follows was not understood. */
  end(): void {
    if (this.#rest.length > 0) throw new Malformed("there is more than there should be");
  }

  #take(count: number): Buffer {
    if (count > this.#rest.length) throw new Malformed("there is less than there should be");
    const taken = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count);
    return taken;
  }
}

export function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function string(value: Buffer | string): Buffer {
  const bytes = typeof value === "string" ? Buffer.from(value, "latin1") : value;
  return Buffer.concat([number(bytes.length), bytes]);
}

/** As `integer` reads it. */
export function integer(value: Buffer): Buffer {
  let first = 0;
  while (first < value.length - 1 && value[first] === 0) first += 1;
  const short = value.subarray(first);
  return string((short[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.alloc(1), short]) : short);
}
