import type { IncomingMessage } from "node:http";
import type { GuardedUsers } from "@sandboxer/contract";
import { type DlpParts, siftAround, siftWord } from "../dlp/watch.ts";
import { type Head, valuesOf } from "../http/head.ts";
import type { AskedRequest } from "../policy/decide.ts";
import { userMayUse } from "../policy/users.ts";
import type { Messages } from "../websocket/join.ts";
import { type Masking, maskingOf } from "./answer.ts";
import { kindOf } from "./body.ts";
import { refuseForeign } from "./foreign.ts";
import { type Filling, fillHeaders, fillTarget } from "./head.ts";
import type { Held } from "./held.ts";
import { type Known, messagesBy } from "./messages.ts";
import { type OutgoingBody, outgoingBody, wholeBody } from "./outgoing.ts";
import { findSigned } from "./resign.ts";

/** A request as it goes out. */
export interface Filled {
  readonly head: Head;
  readonly target: string;
  body(source: AsyncGenerator<Buffer>): Promise<OutgoingBody>;
  /** The headers as they go out, all others being known: a signature is over the rest. */
  sign?(headers: Head["headers"], body: OutgoingBody): Head["headers"];
  /** Of a WebSocket that this opens. */
  readonly messages: Messages;
  masking(answer: IncomingMessage): Masking | undefined;
  /** Nothing of it waits any more. */
  release?(): void;
}

export interface GateParts {
  readonly known: Known;
  readonly users: GuardedUsers;
  readonly uid: number;
  readonly scheme: "http" | "https";
  /** What the sandbox has waiting already. */
  readonly held: Held;
}

/** Puts the secrets into a request where they belong. Throws where one would go elsewhere. */
export async function passGate(parts: GateParts, asked: AskedRequest, head: Head): Promise<Filled> {
  const { known, users, uid, scheme } = parts;
  const { book, dlp } = known();
  const { path, query } = asked;
  const messages = messagesBy(known);
  const kind = kindOf(valuesOf(head, "content-type")[0]);
  const coding = valuesOf(head, "content-encoding").join(",").trim().toLowerCase() || "identity";
  const facts = { kind, coding, dlp };
  if (book.secrets.length === 0 && !dlp) {
    refuseForeign(asked, head);
    const filling = { usable: [], losses: book.losses, to: asked };
    const target = query ? `${path}?${query}` : path;
    return {
      head,
      target,
      body: (source) => outgoingBody(filling, facts, source),
      messages,
      masking: () => undefined,
    };
  }
  // Without TLS everybody on the way could read it.
  const usable = scheme === "https" ? book.secrets.filter(({ name }) => userMayUse(users, uid, name)) : [];
  const filling: Filling = { usable, losses: book.losses, to: asked };
  const signing = findSigned(usable, asked, head);
  const given = signing?.headers ?? head.headers;
  const sifted = dlp ? await siftHead(dlp, filling, asked, given) : { headers: given, query };
  const hasSecrets = book.secrets.length > 0;
  const headers = fillHeaders(filling, hasSecrets ? readable(sifted.headers) : sifted.headers);
  const target = fillTarget(filling, { path, query: sifted.query });
  const waiting = signing?.needsBody ? parts.held.begin() : undefined;
  return {
    head: { ...head, headers },
    target,
    body: (source) =>
      waiting ? wholeBody(filling, facts, waiting.counted(source)) : outgoingBody(filling, facts, source),
    ...(waiting && { release: waiting.release }),
    ...(signing && { sign: (all, { whole }) => signing.sign({ target, headers: all }, whole) }),
    messages,
    masking: (answer) => (hasSecrets ? maskingOf(book, answer) : undefined),
  };
}

/** What may be put in looks like a credential and is none. */
async function siftHead(
  dlp: DlpParts,
  { usable }: Filling,
  { path, query }: AskedRequest,
  headers: Head["headers"],
) {
  const ours = usable.map(({ placeholder }) => placeholder);
  await siftWord(dlp, "path", path);
  const kept: [string, string][] = [];
  for (const [name, value] of headers) {
    await siftWord(dlp, "header", name, false);
    kept.push([name, await siftAround(dlp, "header", value, ours)]);
  }
  return { headers: kept, query: await siftAround(dlp, "query", query, ours) };
}

/** What comes back has to be readable, or nothing in it could be masked. */
function readable(headers: Head["headers"]): Head["headers"] {
  return [
    ...headers.filter(([name]) => name.toLowerCase() !== "accept-encoding"),
    ["Accept-Encoding", "identity"],
  ];
}
