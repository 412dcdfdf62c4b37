import { SandboxerError } from "@sandboxer/contract";

/** How much of a snapshot there may still be: a sandbox's file with holes is as large as it says. */
export interface Room {
  readonly leftBytes: number;
  /** Refuses what is more than there is room for. */
  take(bytes: number): void;
  /** The same of what passes. */
  through(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

export function roomFor(mostBytes: number): Room {
  let leftBytes = mostBytes;
  const take = (bytes: number) => {
    leftBytes -= bytes;
    if (leftBytes >= 0) return;
    throw new SandboxerError("storage_full", `the snapshot is more than ${mostBytes} bytes`, {
      hint: "snapshots.maximumMiB in the configuration is the most.",
    });
  };
  return {
    get leftBytes() {
      return leftBytes;
    },
    take,
    async *through(source) {
      for await (const part of source) {
        take(part.length);
        yield part;
      }
    },
  };
}
