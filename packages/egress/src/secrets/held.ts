import { Refused } from "./stopped.ts";

const MOST_BYTES = 256 * 2 ** 20;

/** Bodies that one sandbox has waiting in memory until they can be signed, all of them together. */
export class Held {
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes = MOST_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** For one request: what is counted as it comes is there until it is released. */
  begin(): { counted(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer>; release(): void } {
    let own = 0;
    const add = (bytes: number) => {
      this.#bytes += bytes;
      own += bytes;
    };
    const hasRoom = (bytes: number) => this.#bytes + bytes <= this.#mostBytes;
    return {
      async *counted(source) {
        for await (const part of source) {
          if (!hasRoom(part.length)) {
            throw new Refused(
              "too much waits here to be signed; with x-amz-content-sha256, which says its hash, a body does not wait",
            );
          }
          add(part.length);
          yield part;
        }
      },
      release: () => add(-own),
    };
  }
}
