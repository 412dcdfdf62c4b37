import type { Box } from "@sandboxer/contract";

/** Live connections: at most one per sandbox, shared by everybody who uses it. */
export interface Boxes {
  /** The connection there is, or a new one; callers who come meanwhile wait for the same. */
  open(sandboxId: string, connect: () => Promise<Box>): Promise<Box>;
  keep(sandboxId: string, box: Box): void;
  drop(sandboxId: string): void;
  close(): void;
}

/** `onBroken` hears of every connection that ends without having been dropped. */
export function createBoxes(onBroken: (sandboxId: string) => void = () => {}): Boxes {
  const live = new Map<string, Promise<Box>>();

  const hold = (sandboxId: string, connecting: Promise<Box>): void => {
    live.set(sandboxId, connecting);
    const forget = () => live.get(sandboxId) === connecting && live.delete(sandboxId);
    connecting.then((box) => box.closed).then(() => forget() && onBroken(sandboxId), forget);
  };
  const drop = (sandboxId: string): void => {
    const connecting = live.get(sandboxId);
    live.delete(sandboxId);
    connecting?.then(
      (box) => box.close(),
      () => {},
    );
  };

  return {
    open(sandboxId, connect) {
      const connecting = live.get(sandboxId) ?? connect();
      if (!live.has(sandboxId)) hold(sandboxId, connecting);
      return connecting;
    },
    keep: (sandboxId, box) => hold(sandboxId, Promise.resolve(box)),
    drop,
    close() {
      for (const sandboxId of live.keys()) drop(sandboxId);
    },
  };
}
