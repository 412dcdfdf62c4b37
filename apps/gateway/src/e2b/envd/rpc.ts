import { isOver, SandboxerError } from "@sandboxer/contract";
import type { z } from "zod";
import { check } from "../../rest/check.ts";
import { answerJson } from "../exchange.ts";
import { parseMessage, readBounded } from "../read-body.ts";
import { rpcCodeOf, rpcStatusOf } from "./code.ts";
import { type FrameStream, openFrames, readFrame, readFrames } from "./frame.ts";
import type { Visit } from "./visit.ts";

/** Input to processes comes in messages; none is larger. */
const MAXIMUM_MESSAGE_BYTES = 16 << 20;

interface Unary {
  readonly kind: "unary";
  readonly request: z.ZodType;
  handle(visit: Visit, request: never): Promise<object>;
}

interface Streaming {
  readonly kind: "stream";
  readonly request: z.ZodType;
  /** How long its first messages wait for those that follow. */
  readonly momentMs: number;
  handle(visit: Visit, request: never, open: () => FrameStream): Promise<void>;
}

/** Many messages in, one answer. */
interface Feeding {
  readonly kind: "feed";
  handle(visit: Visit, messages: AsyncIterable<unknown>): Promise<object>;
}

export type Rpc = Unary | Streaming | Feeding;

export function unary<S extends z.ZodType>(
  request: S,
  handle: (visit: Visit, request: z.output<S>) => Promise<object>,
): Rpc {
  return { kind: "unary", request, handle: handle as Unary["handle"] };
}

/** `open` is called once nothing can be refused any more by a status of its own. */
export function streaming<S extends z.ZodType>(
  request: S,
  handle: (visit: Visit, request: z.output<S>, open: () => FrameStream) => Promise<void>,
  momentMs = 0,
): Rpc {
  return { kind: "stream", request, handle: handle as Streaming["handle"], momentMs };
}

/** Each message is checked with `message` as it comes. */
export function feeding<S extends z.ZodType>(
  message: S,
  handle: (visit: Visit, messages: AsyncIterable<z.output<S>>) => Promise<object>,
): Rpc {
  async function* checked(messages: AsyncIterable<unknown>): AsyncGenerator<z.output<S>> {
    for await (const one of messages) yield check(message, one, "body") as z.output<S>;
  }
  return { kind: "feed", handle: (visit, messages) => handle(visit, checked(messages)) };
}

const CONTENT_TYPE = {
  unary: "application/json",
  stream: "application/connect+json",
  feed: "application/connect+json",
} as const;

export async function serveRpc(rpc: Rpc, visit: Visit): Promise<void> {
  const { incoming, outgoing } = visit;
  const type = (incoming.headers["content-type"] ?? "").split(";")[0]?.trim();
  if (type !== CONTENT_TYPE[rpc.kind]) {
    return void outgoing.writeHead(415, { "accept-post": CONTENT_TYPE[rpc.kind] }).end();
  }
  if (rpc.kind === "unary") await serveUnary(rpc, visit);
  else if (rpc.kind === "feed") await serveFeed(rpc, visit);
  else await serveStream(rpc, visit);
}

async function serveUnary(rpc: Unary, visit: Visit): Promise<void> {
  try {
    const body = await readBounded(visit.incoming, MAXIMUM_MESSAGE_BYTES);
    if (body.length === 0) throw new SandboxerError("invalid_request", "the body is not JSON in UTF-8");
    const asked = parseMessage(body);
    answerJson(visit.outgoing, 200, await rpc.handle(visit, check(rpc.request, asked, "body") as never));
  } catch (error) {
    await destroyIfOver(visit);
    const told = tellOf(visit, error);
    answerJson(visit.outgoing, rpcStatusOf(told.code), told);
  }
}

/** The status of a stream says nothing: what went wrong stands in its last frame. */
async function serveStream(rpc: Streaming, visit: Visit): Promise<void> {
  let frames: FrameStream | undefined;
  const open = () => {
    frames ??= openFrames(visit.outgoing, rpc.momentMs);
    return frames;
  };
  try {
    const asked = readFrame(await readBounded(visit.incoming, MAXIMUM_MESSAGE_BYTES));
    await rpc.handle(visit, check(rpc.request, asked, "body") as never, open);
    open().end({});
  } catch (error) {
    await destroyIfOver(visit);
    open().end({ error: tellOf(visit, error) });
  }
}

async function serveFeed(rpc: Feeding, visit: Visit): Promise<void> {
  const frames = openFrames(visit.outgoing, 0);
  try {
    const incoming = visit.incoming.iterator({ destroyOnReturn: false });
    await frames.send(await rpc.handle(visit, readFrames(incoming, MAXIMUM_MESSAGE_BYTES)));
    frames.end({});
  } catch (error) {
    await destroyIfOver(visit);
    frames.end({ error: tellOf(visit, error) });
  }
}

/** A sandbox that ends takes its connections with it; clients ask then whether it still runs. */
async function destroyIfOver({ ground, principal, sandbox, outgoing, facts }: Visit): Promise<void> {
  const now = await ground.core.get(principal, sandbox.id).catch(() => undefined);
  if (now && !isOver(now.state) && now.state !== "destroying") return;
  facts.code = "sandbox_gone";
  outgoing.destroy();
}

function tellOf({ report, facts, user }: Visit, error: unknown) {
  const { code, message } = report(error);
  facts.code = code;
  const isUser = SandboxerError.is(error) && code === "no_such_user";
  return { code: rpcCodeOf(code), message: isUser ? `invalid username: '${user}'` : message };
}
