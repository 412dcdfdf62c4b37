import type { Socket } from "node:net";

/** Long enough for whoever got the last one to go on first. */
const PREPARED_AFTER_MS = 3;

const EVENTS = ["data", "error", "close"] as const;

/** A connection made ahead of the next create, which then need not wait for one. */
export interface Spare {
  take(): Socket | undefined;
  prepareLater(): void;
  close(): void;
}

export function createSpare(dial: () => Promise<Socket | undefined>): Spare {
  let ready: { readonly socket: Socket; readonly letGo: () => void } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const prepare = async (): Promise<void> => {
    const socket = await dial();
    timer = undefined;
    if (!socket) return;
    if (closed) return void socket.destroy();
    const letGo = () => {
      if (ready?.socket === socket) ready = undefined;
      socket.destroy();
    };
    // Nothing has been asked, so whatever comes, the end included, is a reason to let go.
    for (const event of EVENTS) socket.on(event, letGo);
    // It lies idle: nobody's leaving must wait for it.
    socket.unref();
    ready = { socket, letGo };
  };

  return {
    take() {
      if (!ready) return undefined;
      const { socket, letGo } = ready;
      ready = undefined;
      for (const event of EVENTS) socket.off(event, letGo);
      return socket.ref();
    },
    prepareLater() {
      if (ready || timer || closed) return;
      timer = setTimeout(() => void prepare(), PREPARED_AFTER_MS).unref();
    },
    close() {
      closed = true;
      clearTimeout(timer);
      ready?.letGo();
    },
  };
}
