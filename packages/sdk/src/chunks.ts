import { unreachable } from "./failure.ts";

export interface Chunks {
  readonly data: AsyncIterable<Uint8Array>;
  /** Lets go of the answer; whoever waits for more sees the end. */
  cancel(): void;
}

/** The bytes of an answer as they come. */
export function chunksOf({ body }: Response): Chunks {
  const reader = body?.getReader();
  const cancel = () => void reader?.cancel().catch(() => {});
  async function* data(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true };
        if (done || !value) return;
        yield value;
      }
    } catch (cause) {
      throw unreachable("the answer broke off", cause);
    } finally {
      cancel();
    }
  }
  return { data: data(), cancel };
}
