import type { Ports } from "@sandboxer/contract";
import type { Connection } from "./connection.ts";
import type { Stream } from "./stream.ts";

export function openPorts(connection: Connection): Ports {
  return {
    async dial(port) {
      const stream = await connection.open("dial", { port });
      await stream.reply;
      return {
        data: data(stream),
        write: (bytes) => stream.send(0, bytes),
        end: () => stream.sendEof(0),
        close: () => stream.cancel(),
      };
    },
  };
}

/** Ends with the other side's last byte; what goes in may go on. Leaving early closes both ways. */
async function* data(stream: Stream): AsyncGenerator<Uint8Array> {
  let isWhole = false;
  try {
    for (;;) {
      const item = await stream.next();
      if (item.type === "data") {
        yield item.data;
        continue;
      }
      isWhole = true;
      return;
    }
  } finally {
    if (!isWhole) stream.cancel();
  }
}
