import type { ClientRequest } from "node:http";
import type { Duplex } from "node:stream";
import type { Filled } from "../secrets/gate.ts";
import { Refused } from "../secrets/stopped.ts";
import type { BadFrame } from "../websocket/frames.ts";
import { join } from "../websocket/join.ts";
import { BrokenOff, passOn, send, upgradeHead } from "./answer.ts";
import { BadRequest, type Framing, framingOf, type Head, hopByHop, valuesOf } from "./head.ts";
import type { Incoming } from "./incoming.ts";
import type { Outcome, Upstream } from "./upstream.ts";

/** So much of a body is looked at before the far side hears of the request at all. */
const LOOKED_AT_BYTES = 65_536;

/** One request that may be made, and its answer. */
export interface Exchange {
  /** As it came. */
  readonly head: Head;
  /** As it goes out. */
  readonly filled: Filled;
  readonly client: Duplex;
  readonly incoming: Incoming;
  readonly upstream: Upstream;
  /** A WebSocket is there from now on, for as long as it may be. */
  opened(): void;
}

export interface Finished {
  readonly status: number;
  /** The connection can be used for the next request. */
  readonly isReusable: boolean;
  /** Of a WebSocket, why it was ended from here. */
  readonly ended?: Refused | BadFrame;
}

/** Every word that goes out is written anew, so nothing is in it that was not understood. */
export async function exchange(parts: Exchange): Promise<Finished> {
  const { head, filled, client, incoming, upstream } = parts;
  const framing = framingOf(head);
  const upgrade = upgradeOf(head, framing);
  if (valuesOf(head, "expect").some((value) => value.toLowerCase() === "100-continue")) {
    await send(client, "HTTP/1.1 100 Continue\r\n\r\n");
  }
  const outgoing = await filled.body(incoming.body(framing));
  const { stream: body, bytes } = outgoing;
  const unsigned = outgoingHeaders(filled.head, upgrade, bytes);
  const headers = (filled.sign?.(unsigned, outgoing) ?? unsigned).flat();
  const first = await lookAhead(body);
  const { request, outcome } = upstream.send(head.method, filled.target, headers);
  const leave = () => {
    upstream.close();
    // Also where it waits for a connection still.
    request.destroy();
  };
  client.once("close", leave);
  try {
    const sent = sendBody(request, first, body);
    sent.catch(() => {});
    // What stops the body is the reason, and not that the far side then hears no more.
    const came = await Promise.race([outcome, sent.then(() => outcome)]);
    if (came.kind === "upgrade" && !upgrade) {
      came.socket.destroy();
      throw new Error("it opens what nobody asked for");
    }
    if (came.kind === "upgrade") return await open(parts, came);
    const masking = filled.masking(came.answer);
    const keepAlive = head.version === "HTTP/1.1" && !isClosing(head);
    const passing = passOn(client, came.answer, { method: head.method, keepAlive, ...masking });
    const [isReusable] = await Promise.all([passing, sent]).catch((error) => {
      throw new BrokenOff(error);
    });
    return { status: came.answer.statusCode ?? 0, isReusable };
  } finally {
    client.off("close", leave);
  }
}

function upgradeOf(head: Head, framing: Framing): boolean {
  const upgrades = valuesOf(head, "upgrade");
  if (upgrades.length === 0) return false;
  const isWebSocket = upgrades.length === 1 && upgrades[0]?.toLowerCase() === "websocket";
  if (!isWebSocket || head.method !== "GET" || framing.kind !== "none") {
    throw new BadRequest("an upgrade to something else than a WebSocket");
  }
  return true;
}

/** `bytes`: how long the body is, where it is no longer what it was. */
function outgoingHeaders(head: Head, upgrade: boolean, bytes?: number): Head["headers"] {
  const ours = hopByHop(head);
  const isKept = (name: string) => !ours.has(name) && !(name === "content-length" && bytes !== undefined);
  const kept = head.headers.filter(([name]) => isKept(name.toLowerCase()));
  if (bytes !== undefined) kept.push(["Content-Length", `${bytes}`]);
  else if (framingOf(head).kind === "chunked") kept.push(["Transfer-Encoding", "chunked"]);
  return upgrade ? [...kept, ["Connection", "Upgrade"], ["Upgrade", "websocket"]] : kept;
}

const isClosing = (head: Head): boolean =>
  valuesOf(head, "connection").some((value) => /(?:^|[,\s])close(?:$|[,\s])/i.test(value));

/** What breaks the framing early breaks it before the far side has heard a byte. */
async function lookAhead(body: AsyncIterator<Buffer>): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  for (let bytes = 0; bytes < LOOKED_AT_BYTES; ) {
    const { done, value } = await body.next();
    if (done) break;
    parts.push(value);
    bytes += value.length;
  }
  return parts;
}

async function sendBody(
  request: ClientRequest,
  first: readonly Buffer[],
  rest: AsyncIterator<Buffer>,
): Promise<void> {
  try {
    for (const part of first) request.write(part);
    for (let next = await rest.next(); !next.done; next = await rest.next()) {
      const part = next.value;
      if (!request.write(part))
        await new Promise((resolve) => request.once("drain", resolve).once("close", resolve));
      if (request.destroyed) return;
    }
    request.end();
  } catch (error) {
    // Half a body is none: the far side must not take it for a whole one.
    request.destroy();
    throw error;
  }
}

/** From the far side's yes to the end of what the two say to each other. */
async function open(
  { client, incoming, filled, opened }: Exchange,
  { answer, socket, first }: Extract<Outcome, { kind: "upgrade" }>,
): Promise<Finished> {
  // Nobody was offered an extension: with one, nobody here could read what is said.
  if (answer.headers["sec-websocket-extensions"] !== undefined) {
    socket.destroy();
    throw new Refused("it opens a WebSocket with an extension that nobody asked for");
  }
  await send(client, upgradeHead(answer, filled.masking(answer)?.changeWord));
  opened();
  const ended = await join({ client, incoming, socket, first, messages: filled.messages });
  return { status: 101, isReusable: false, ...(ended && { ended }) };
}
