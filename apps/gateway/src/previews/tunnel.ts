import { Duplex } from "node:stream";
import type { ByteStream } from "@sandboxer/contract";

/** A connection into a sandbox, as Node's HTTP client wants to see one. */
export function tunnelOf(stream: ByteStream): Duplex {
  const iterator = stream.data[Symbol.asyncIterator]();
  return new Duplex({
    allowHalfOpen: true,
    read() {
      iterator.next().then(
        ({ done, value }) => this.push(done ? null : value),
        (error) => this.destroy(error),
      );
    },
    write(chunk: Uint8Array, _encoding, done) {
      stream.write(chunk).then(() => done(), done);
    },
    final(done) {
      stream.end().then(() => done(), done);
    },
    destroy(error, done) {
      stream.close();
      done(error);
    },
  });
}
