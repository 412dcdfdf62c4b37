import { concatenate } from "@sandboxer/contract";

/** Sends one part; resolves when the sandbox has taken it. */
type Send = (data: Uint8Array, end: boolean) => Promise<unknown>;

interface Waiting {
  readonly data: Uint8Array;
  readonly end: boolean;
  resolve(): void;
  reject(reason: unknown): void;
}

/**
 * Keeps input in order over separate requests. What gathers while one is under way goes out
 * together in the next, so many small writes cost few requests.
 */
export function createStdin(send: Send): { write(data: Uint8Array): Promise<void>; end(): Promise<void> } {
  let waiting: Waiting[] = [];
  let busy = false;

  async function pump(): Promise<void> {
    busy = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        const data = concatenate(batch.map((part) => part.data));
        await send(
          data,
          batch.some((part) => part.end),
        );
        for (const part of batch) part.resolve();
      } catch (error) {
        for (const part of batch) part.reject(error);
      }
    }
    busy = false;
  }

  function push(data: Uint8Array, end: boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiting.push({ data, end, resolve, reject });
    if (!busy) void pump();
    return promise;
  }

  return {
    write: (data) => (data.length === 0 ? Promise.resolve() : push(data, false)),
    end: () => push(new Uint8Array(), true),
  };
}
