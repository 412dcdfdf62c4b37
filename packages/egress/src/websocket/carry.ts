import { BadFrame, type FrameHead, Frames, frameOf, isControl, OPCODES } from "./frames.ts";

/** What a message is on its way. Throws where it may not go on. */
export type Change = (message: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;

export interface Carrying {
  readonly source: AsyncIterator<Buffer>;
  /** Whether those who speak here mask. */
  readonly isMasked: boolean;
  readonly change: Change;
  /** False once whoever listens has left. */
  write(bytes: Buffer): Promise<boolean>;
}

class Over extends Error {}

const MOST_CONTROL_BYTES = 125;

/**
 * Message after message of one direction, each written anew: in one frame where it came as one piece,
 * otherwise in as many as it takes not to wait for its end.
 */
export async function carry(parts: Carrying): Promise<void> {
  const frames = new Frames(parts.source, parts.isMasked);
  try {
    for (let head = await frames.head(); head; head = await frames.head()) {
      if (isControl(head)) await passControl(parts, frames, head);
      else if (head.opcode === OPCODES.continuation) throw new BadFrame("that goes on with nothing");
      else await passMessage(parts, frames, head);
    }
  } catch (error) {
    if (!(error instanceof Over)) throw error;
  }
}

async function passMessage(parts: Carrying, frames: Frames, head: FrameHead): Promise<void> {
  let opcode = head.opcode;
  let held: Buffer | undefined;
  for await (const part of parts.change(bodyOf(parts, frames, head))) {
    if (held) {
      await write(parts, opcode, false, held);
      opcode = OPCODES.continuation;
    }
    held = part;
  }
  await write(parts, opcode, true, held ?? Buffer.alloc(0));
}

/** Between the pieces of a message others may stand that are about the connection. */
async function* bodyOf(parts: Carrying, frames: Frames, head: FrameHead): AsyncGenerator<Buffer> {
  yield* frames.payload(head);
  for (let { isLast } = head; !isLast; ) {
    const next = await frames.head();
    if (!next) throw new BadFrame("that nothing follows");
    if (isControl(next)) {
      await passControl(parts, frames, next);
      continue;
    }
    if (next.opcode !== OPCODES.continuation) throw new BadFrame("that begins within another message");
    yield* frames.payload(next);
    isLast = next.isLast;
  }
}

async function passControl(parts: Carrying, frames: Frames, head: FrameHead): Promise<void> {
  const said = await frames.whole(head);
  const changed: Buffer[] = [];
  for await (const part of parts.change(only(said))) changed.push(part);
  const payload = Buffer.concat(changed);
  // What became longer than it may be is left out: nobody has to say anything here.
  await write(parts, head.opcode, true, payload.length > MOST_CONTROL_BYTES ? Buffer.alloc(0) : payload);
  if (head.opcode === OPCODES.close) throw new Over();
}

async function write(parts: Carrying, opcode: number, isLast: boolean, payload: Buffer): Promise<void> {
  if (!(await parts.write(frameOf(opcode, isLast, payload, parts.isMasked)))) throw new Over();
}

async function* only(bytes: Buffer): AsyncGenerator<Buffer> {
  if (bytes.length > 0) yield bytes;
}
