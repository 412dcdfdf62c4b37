import { SandboxerError } from "@sandboxer/contract";

interface Waiting {
  readonly progress?: ((message: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Flight<T> {
  readonly landing: Promise<T>;
  readonly listeners: Set<(message: string) => void>;
}

/** Work that many ask for and that happens once. Who gives up waiting does not end it for the others. */
export interface Flights<T> {
  join(
    name: string,
    fly: (signal: AbortSignal, say: (message: string) => void) => Promise<T>,
    waiting: Waiting,
  ): Promise<T>;
  /** Runs alone: what is under way comes first, what is asked for meanwhile comes after. */
  alone<R>(work: () => Promise<R>): Promise<R>;
  close(): void;
}

const PATIENCE_MS = 3_600_000;

export function createFlights<T>(): Flights<T> {
  const flights = new Map<string, Flight<T>>();
  const ending = new AbortController();
  let barrier: Promise<unknown> = Promise.resolve();

  const begin = (name: string, fly: (signal: AbortSignal, say: (message: string) => void) => Promise<T>) => {
    const listeners = new Set<(message: string) => void>();
    const say = (message: string) => {
      for (const listener of listeners) listener(message);
    };
    const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(PATIENCE_MS)]);
    const landing = barrier.then(() => fly(signal, say)).finally(() => flights.delete(name));
    landing.catch(() => {});
    const flight = { landing, listeners };
    flights.set(name, flight);
    return flight;
  };

  return {
    async join(name, fly, { progress, signal }) {
      const { landing, listeners } = flights.get(name) ?? begin(name, fly);
      if (progress) listeners.add(progress);
      try {
        return await (signal ? Promise.race([landing, aborted(signal)]) : landing);
      } finally {
        if (progress) listeners.delete(progress);
      }
    },
    alone(work) {
      const before = Promise.allSettled([barrier, ...[...flights.values()].map(({ landing }) => landing)]);
      const working = before.then(work);
      barrier = working.catch(() => {});
      return working;
    },
    close: () => ending.abort(),
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  const late = () =>
    new SandboxerError("deadline_exceeded", "the image is still on its way; it goes on coming");
  return new Promise((_, reject) => {
    if (signal.aborted) reject(late());
    signal.addEventListener("abort", () => reject(late()), { once: true });
  });
}
