import { type ByteStream, newRowId, type Principal, SandboxerError } from "@sandboxer/contract";

/** How long one whose output is over waits for more input before it is let go. */
const LINGER_MS = 60_000;

/**
 * Connections to ports inside sandboxes. What goes in comes in requests of their own and must
 * reach the same connection; only the key that opened one can name it.
 */
export interface LiveConnections {
  hold(principal: Principal, sandbox: string, stream: ByteStream): HeldConnection;
  reach(principal: Principal, sandbox: string, connectionId: string): ByteStream;
}

export interface HeldConnection {
  readonly id: string;
  /** What comes out; at its end the connection stays for what still goes in, and not for ever. */
  readonly data: AsyncIterable<Uint8Array>;
}

export function createLiveConnections(): LiveConnections {
  const held = new Map<string, ByteStream>();
  const keyOf = (principal: Principal, sandbox: string, connectionId: string) =>
    `${principal.keyId} ${sandbox} ${connectionId}`;
  return {
    hold(principal, sandbox, stream) {
      const id = newRowId("con");
      const key = keyOf(principal, sandbox, id);
      held.set(key, stream);
      const release = () => {
        held.delete(key);
        stream.close();
      };
      return { id, data: follow(stream, release) };
    },
    reach(principal, sandbox, connectionId) {
      const stream = held.get(keyOf(principal, sandbox, connectionId));
      if (stream) return stream;
      throw new SandboxerError("not_found", "there is no such connection");
    },
  };
}

async function* follow(stream: ByteStream, release: () => void): AsyncGenerator<Uint8Array> {
  let isWhole = false;
  try {
    yield* stream.data;
    isWhole = true;
  } finally {
    if (isWhole) setTimeout(release, LINGER_MS).unref();
    else release();
  }
}
