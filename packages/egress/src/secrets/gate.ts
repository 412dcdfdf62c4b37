import type { IncomingMessage } from "node:http";
import type { GuardedUsers } from "@sandboxer/contract";
import { type Head, valuesOf } from "../http/head.ts";
import type { AskedRequest } from "../policy/decide.ts";
import { userMayUse } from "../policy/users.ts";
import { type Masking, maskingOf } from "./answer.ts";
import { type BodyKind, fillBody, gather, guardBody, kindOf } from "./body.ts";
import type { Book } from "./book.ts";
import { type Filling, fillHeaders, fillTarget } from "./head.ts";
import { Refused, Stopped } from "./stopped.ts";

/** Whether a word is a placeholder of a sandbox other than this. */
export type IsForeign = (word: string) => boolean;

/** A request as it goes out. */
export interface Filled {
  readonly head: Head;
  readonly target: string;
  /** `bytes` where the length is another than was said. */
  body(source: AsyncGenerator<Buffer>): Promise<{ stream: AsyncIterator<Buffer>; bytes?: number }>;
  masking(answer: IncomingMessage): Masking | undefined;
}

export interface GateParts {
  readonly book: Book;
  readonly users: GuardedUsers;
  readonly uid: number;
  readonly scheme: "http" | "https";
  readonly isForeign: IsForeign;
}

const WORD = /[\w.-]{24,}/g;

/** Puts the secrets into a request where they belong. Throws where one would go elsewhere. */
export function passGate(parts: GateParts, asked: AskedRequest, head: Head): Filled {
  const { book, users, uid, scheme, isForeign } = parts;
  refuseForeign(isForeign, asked, head);
  const { path, query } = asked;
  if (book.secrets.length === 0) {
    const target = query ? `${path}?${query}` : path;
    return { head, target, body: async (stream) => ({ stream }), masking: () => undefined };
  }
  if (valuesOf(head, "upgrade").length > 0 && book.isBoundTo(asked.host, asked.port)) {
    throw new Refused("what follows an upgrade is not read, and a secret is bound to this host");
  }
  // Without TLS everybody on the way could read it.
  const usable = scheme === "https" ? book.secrets.filter(({ name }) => userMayUse(users, uid, name)) : [];
  const filling: Filling = { usable, losses: book.losses, to: asked };
  const headers = fillHeaders(filling, readable(head.headers));
  return {
    head: { ...head, headers },
    target: fillTarget(filling, asked),
    body: (source) => outgoingBody(filling, kindOf(valuesOf(head, "content-type")[0]), source),
    masking: (answer) => maskingOf(book, answer),
  };
}

/** What comes back has to be readable, or nothing in it could be masked. */
function readable(headers: Head["headers"]): Head["headers"] {
  return [
    ...headers.filter(([name]) => name.toLowerCase() !== "accept-encoding"),
    ["Accept-Encoding", "identity"],
  ];
}

async function outgoingBody(filling: Filling, kind: BodyKind, source: AsyncGenerator<Buffer>) {
  const hasCell = filling.usable.some(({ hasBodyCell }) => hasBodyCell(filling.to));
  if (!hasCell) return { stream: guardBody(filling, source)[Symbol.asyncIterator]() };
  const { bytes, isWhole } = await gather(source);
  if (isWhole) {
    const filled = fillBody(filling, kind, bytes);
    return { stream: only(filled), ...(filled !== bytes && { bytes: filled.length }) };
  }
  return { stream: guardBody(filling, chained(bytes, source))[Symbol.asyncIterator]() };
}

async function* only(bytes: Buffer): AsyncGenerator<Buffer> {
  if (bytes.length > 0) yield bytes;
}

async function* chained(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

function refuseForeign(isForeign: IsForeign, { path, query }: AskedRequest, { headers }: Head): void {
  const texts = [...headers.map(([, value]) => ({ text: value, place: "header" as const }))];
  for (const { text, place } of [...texts, { text: `${path}?${query}`, place: "query" as const }]) {
    if (text.match(WORD)?.some(isForeign)) throw new Stopped({ secret: "", what: "foreign" }, place);
  }
}
