import type { Box, ByteSource, ByteStream, Files, Principal, Process } from "@sandboxer/contract";
import type { Leases } from "./leases.ts";

/** A process that its key began dies with that key; one that it only reads is merely no longer read. */
export function leasedProcess(
  leases: Leases,
  { keyId }: Principal,
  box: Box,
  process: Process,
  role: "starter" | "reader",
): Process {
  let release = () => {};
  const { items, cut } = cuttable(process.events, (event) => event?.type === "exit" && release());
  release = leases.open(
    keyId,
    (error) => {
      if (role === "starter") process.signal("KILL").catch(() => {});
      cut(error);
    },
    box,
  );
  return { ...process, events: items };
}

/** Bytes on their way stop with the key. */
export function leasedFiles(leases: Leases, { keyId }: Principal, box: Box, files: Files): Files {
  const leased = (source: ByteSource): AsyncIterable<Uint8Array> => {
    let release = () => {};
    const { items, cut } = cuttable(source, (item) => item ?? release());
    release = leases.open(keyId, cut, box);
    return items;
  };
  return {
    ...files,
    async read(path, options) {
      const content = await files.read(path, options);
      return { ...content, data: leased(content.data) };
    },
    write: (path, source, options) => files.write(path, leased(source), options),
    pack: async (path, options) => leased(await files.pack(path, options)),
    unpack: (path, source, options) => files.unpack(path, leased(source), options),
    async watch(path, options) {
      const watch = await files.watch(path, options);
      let release = () => {};
      const { items, cut } = cuttable(watch.changes, (change) => change ?? release());
      release = leases.open(keyId, cut, box);
      return { changes: items, close: () => watch.close() };
    },
  };
}

/** What is told, until the key ends. */
export function leasedItems<T>(
  leases: Leases,
  { keyId }: Principal,
  box: Box,
  source: AsyncIterable<T>,
): AsyncIterable<T> {
  let release = () => {};
  const { items, cut } = cuttable(source, (item) => item ?? release());
  release = leases.open(keyId, cut, box);
  return items;
}

/** A connection to a port closes with the key. */
export function leasedStream(leases: Leases, { keyId }: Principal, box: Box, stream: ByteStream): ByteStream {
  let release = () => {};
  const { items, cut } = cuttable(stream.data, () => {});
  const close = () => {
    release();
    stream.close();
  };
  release = leases.open(
    keyId,
    (error) => {
      stream.close();
      cut(error);
    },
    box,
  );
  return { ...stream, data: items, close };
}

/**
 * The same items, until `cut`: then whoever waits is told, without waiting for the source. Told of
 * every item, and of `undefined` when there will be none.
 */
function cuttable<T>(
  source: AsyncIterable<T> | Iterable<T>,
  told: (item: T | undefined) => unknown,
): { items: AsyncIterable<T>; cut(error: Error): void } {
  const from = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  let cutBy: Error | undefined;
  let tell: ((error: Error) => void) | undefined;
  const leave = async () => void (await from.return?.());
  const iterator: AsyncIterator<T> = {
    next: () =>
      cutBy
        ? Promise.reject(cutBy)
        : new Promise((resolve, reject) => {
            tell = reject;
            Promise.resolve(from.next()).then(
              (step) => {
                told(step.done ? undefined : step.value);
                resolve(step);
              },
              (error) => {
                told(undefined);
                reject(error);
              },
            );
          }),
    async return() {
      told(undefined);
      await leave();
      return { done: true, value: undefined };
    },
  };
  return {
    items: { [Symbol.asyncIterator]: () => iterator },
    cut(error) {
      cutBy = error;
      tell?.(error);
      leave().catch(() => {});
    },
  };
}
