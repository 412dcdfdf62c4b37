/** The least of a request that is asked for here. What `fetch` makes is one, and what Node brings costs less so. */
export interface Asked {
  readonly method: string;
  /** Only its path and its query count. */
  readonly url: string;
  readonly headers: Pick<Headers, "get" | "has">;
  readonly body: ReadableStream<Uint8Array> | null;
  /** All of the body at once, or nothing when it is longer than that; left out, it is read from `body`. */
  whole?(atMost: number): Promise<Uint8Array | undefined>;
}

/** Bytes for whoever asks for them: less than a ReadableStream, and several times quicker. */
export interface Pulled {
  /** Nothing at the end. */
  next(): Promise<Uint8Array | undefined>;
  /** The reader is gone. */
  cancel(): void;
}

export type Body = string | ReadableStream<Uint8Array> | Pulled;

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Body;
  /** To be called when the answer is out, or its reader gone. */
  over?(): void;
}

export type App = (asked: Asked) => Promise<Answered>;

/** A stream as something to be pulled. */
export function pulledFrom(body: ReadableStream<Uint8Array> | Pulled): Pulled {
  if ("next" in body) return body;
  const reader = body.getReader();
  return {
    next: async () => (await reader.read()).value,
    cancel: () => void reader.cancel().catch(() => {}),
  };
}

/** For those who ask within this process. */
export function responseOf({ status, headers, body, over }: Answered): Response {
  over?.();
  if (body === undefined) return new Response(null, { status, headers });
  return new Response(typeof body === "object" && "next" in body ? streamOf(body) : body, {
    status,
    headers,
  });
}

export function streamOf(pulled: Pulled): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const part = await pulled.next();
        if (part) controller.enqueue(part);
        else controller.close();
      },
      cancel: () => pulled.cancel(),
    },
    { highWaterMark: 0 },
  );
}
