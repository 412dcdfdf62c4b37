import { PREFACE } from "./http2.ts";

/** The beginning of a request, as it was written and in no other way. */
export interface Head {
  readonly method: string;
  readonly target: string;
  readonly version: "HTTP/1.1" | "HTTP/1.0";
  /** In order, names as they were written. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export type Framing =
  | { readonly kind: "none" | "chunked" }
  | { readonly kind: "length"; readonly bytes: number };

/** What a server might read differently than we do. It is answered with 400, and nothing of it is sent on. */
export class BadRequest extends Error {}

/** Whoever says this speaks HTTP/2, of which nothing is read here, and understands an answer in it. */
export class NotRead extends BadRequest {
  constructor() {
    super("HTTP/2 is not read here: speak HTTP/1.1, or have a rule for this host that is not about requests");
  }
}

export const MOST_HEAD_BYTES = 65_536;
const MOST_HEADERS = 200;
const REQUEST_LINE = /^([A-Z]{1,20}) ([\x21-\x7e]{1,16384}) (HTTP\/1\.[01])$/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** `bytes` end before the empty line. Every line ends in CR LF, and there is no other CR or LF. */
export function parseHead(bytes: Buffer): Head {
  const [first = "", ...lines] = bytes.toString("latin1").split("\r\n");
  if (first === PREFACE) throw new NotRead();
  const [, method, target, version] = REQUEST_LINE.exec(first) ?? bad("a broken request line");
  if (lines.length > MOST_HEADERS) bad("too many headers");
  const headers = lines.map((line): [string, string] => {
    const cut = line.indexOf(":");
    const [name, value] = [line.slice(0, Math.max(cut, 0)), withoutBlanks(line.slice(cut + 1))];
    if (!NAME.test(name) || !VALUE.test(value)) bad("a broken header");
    return [name, value];
  });
  return { method, target, version, headers } as Head;
}

/** Spaces and tabs around a value are none of it. Whatever else looks empty is: `trim` takes a line feed too. */
function withoutBlanks(text: string): string {
  const isBlank = (at: number) => text[at] === " " || text[at] === "\t";
  let [from, to] = [0, text.length];
  while (from < to && isBlank(from)) from += 1;
  while (from < to && isBlank(to - 1)) to -= 1;
  return text.slice(from, to);
}

/** The values of a header, by its name in small letters. */
export function valuesOf({ headers }: Pick<Head, "headers">, name: string): string[] {
  return headers.filter(([one]) => one.toLowerCase() === name).map(([, value]) => value);
}

/** How long the body is. There is exactly one way to say so, or the request is refused. */
export function framingOf(head: Head): Framing {
  const lengths = valuesOf(head, "content-length");
  const codings = valuesOf(head, "transfer-encoding");
  if (lengths.length + codings.length > 1) bad("two lengths");
  const [length] = lengths;
  const [coding] = codings;
  if (coding !== undefined) {
    if (coding.toLowerCase() !== "chunked" || head.version === "HTTP/1.0")
      bad("an unknown transfer-encoding");
    return { kind: "chunked" };
  }
  if (length === undefined) return { kind: "none" };
  if (!/^\d{1,15}$/.test(length)) bad("a broken content-length");
  return { kind: "length", bytes: Number(length) };
}

/** What a request says that it has for us alone. */
export function namedByConnection(head: Head): string[] {
  const named = valuesOf(head, "connection").flatMap((value) => value.split(","));
  return named.map((part) => part.trim().toLowerCase());
}

/** Headers that are meant for us and not for the far side, and what they themselves name. */
export function hopByHop(head: Head): ReadonlySet<string> {
  const named = namedByConnection(head);
  const essential = ["host", "content-length", "transfer-encoding", "authorization", "cookie"];
  if (named.some((name) => essential.includes(name))) bad("a connection header that hides others");
  return new Set([
    ...["connection", "proxy-connection", "keep-alive", "te", "trailer", "upgrade", "expect"],
    ...["proxy-authorization", "proxy-authenticate", "transfer-encoding", "http2-settings"],
    // Messages that are packed, or framed in ways of their own, could not be read.
    "sec-websocket-extensions",
    ...named,
  ]);
}

export function bad(reason: string): never {
  throw new BadRequest(reason);
}
