import { type ByteSource, SandboxerError } from "@sandboxer/contract";
import type { Stream } from "./stream.ts";

/** What comes out on a stream, until it ends. Leaving the loop cancels it. */
export async function* content(stream: Stream): AsyncGenerator<Uint8Array> {
  try {
    stream.widen();
    for (;;) {
      const item = await stream.next();
      if (item.type === "data") yield item.data;
      if (item.type === "end" || item.type === "cancelled") return;
    }
  } finally {
    stream.cancel();
  }
}

/** Sends everything, then waits for the answer. */
export async function upload(stream: Stream, source: ByteSource): Promise<Readonly<Record<string, unknown>>> {
  try {
    await stream.reply;
    for await (const part of source) await stream.send(0, part);
    await stream.sendEof(0);
    return await resultOf(stream);
  } finally {
    stream.cancel();
  }
}

async function resultOf(stream: Stream): Promise<Readonly<Record<string, unknown>>> {
  for (;;) {
    const item = await stream.next();
    if (item.type === "end") return item.result;
    if (item.type === "cancelled") throw new SandboxerError("internal", "nobody waits for this any more");
  }
}
