import type { Duplex } from "node:stream";
import { send } from "../http/answer.ts";
import { Incoming } from "../http/incoming.ts";
import { Refused } from "../secrets/stopped.ts";
import { type Change, carry } from "./carry.ts";
import { BadFrame, frameOf, OPCODES } from "./frames.ts";

/** What becomes of messages, by what is known at the moment of each. */
export interface Messages {
  readonly out: Change;
  readonly in: Change;
}

export interface Joined {
  readonly client: Duplex;
  readonly incoming: Incoming;
  readonly socket: Duplex;
  /** What the far side has said already. */
  readonly first: Buffer;
  readonly messages: Messages;
}

const POLICY_VIOLATION = 1008;
const PROTOCOL_ERROR = 1002;
const MOST_REASON_BYTES = 123;

/** Whoever was told that it is over has so long to leave by itself. */
const LEAVES_WITHIN_MS = 5_000;

/**
 * From here on the two sides speak with each other, and every message is looked at. Resolves with the
 * reason where it was ended from here.
 */
export async function join(joined: Joined): Promise<Refused | BadFrame | undefined> {
  const { client, incoming, socket, messages } = joined;
  client.once("close", () => socket.destroy());
  const up = carry({
    source: incoming.rest(),
    isMasked: true,
    change: messages.out,
    write: (bytes) => send(socket, bytes),
  }).then(() => end(socket, client));
  const down = carry({
    source: farSide(joined),
    isMasked: false,
    change: messages.in,
    write: (bytes) => send(client, bytes),
  }).then(() => end(client, client));
  try {
    await Promise.all([up, down]);
    return undefined;
  } catch (error) {
    if (!(error instanceof Refused || error instanceof BadFrame)) throw error;
    const isRefused = error instanceof Refused;
    const code = isRefused ? POLICY_VIOLATION : PROTOCOL_ERROR;
    // Both hear that it is over, and only the sandbox why.
    const why = isRefused ? error.message : `a frame ${error.message}`;
    end(socket, client, closing(code, "", true));
    end(client, client, closing(code, why, false));
    void up.catch(() => {}).then(() => readAway(incoming));
    return error;
  }
}

/** What was said to a side until now still gets there; whoever does not leave then is not waited for. */
function end(side: Duplex, client: Duplex, last?: Buffer): void {
  if (side.writable) side.end(last);
  const late = setTimeout(() => client.destroy(), LEAVES_WITHIN_MS);
  client.once("close", () => clearTimeout(late));
}

/** Who is cut off with words of its own still unread may not hear the last ones said to it. */
async function readAway(incoming: Incoming): Promise<void> {
  for await (const _ of incoming.rest());
}

async function* farSide({ first, socket }: Joined): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first;
  yield* new Incoming(socket).rest();
}

function closing(code: number, reason: string, isMasked: boolean): Buffer {
  const said = Buffer.alloc(2);
  said.writeUInt16BE(code);
  const words = Buffer.from(reason.slice(0, MOST_REASON_BYTES)).subarray(0, MOST_REASON_BYTES);
  return frameOf(OPCODES.close, true, Buffer.concat([said, words]), isMasked);
}
