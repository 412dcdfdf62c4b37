import type { Head } from "../http/head.ts";
import type { Target } from "../policy/path.ts";
import type { BookedSecret, Destination, Place } from "./book.ts";
import type { Loss } from "./loss.ts";
import { findFirst, type Needle } from "./scan.ts";
import { Stopped } from "./stopped.ts";

/** What a request may have put into it, and what must not leave with it. */
export interface Filling {
  /** Those that whoever asks may use, through TLS; none otherwise. */
  readonly usable: readonly BookedSecret[];
  readonly losses: readonly Needle<Loss>[];
  readonly to: Destination;
}

type Headers = Head["headers"];

/** Every header with its secrets in place. Throws `Stopped` for one that does not belong there. */
export function fillHeaders(filling: Filling, headers: Headers): Headers {
  return headers.map(([name, value]) => {
    refuseLosses(filling, name, "header");
    return [name, fillHeader(filling, { in: "header", name }, value)];
  });
}

function fillHeader(filling: Filling, place: Place, value: string): string {
  const basic = basicOf(value);
  if (!basic) return fill(filling, place, value);
  const filled = fill(filling, place, basic.plain);
  return filled === basic.plain ? value : basic.scheme + Buffer.from(filled, "latin1").toString("base64");
}

/** A name and a password, as servers read them. */
export function basicOf(value: string): { scheme: string; plain: string } | undefined {
  const [, scheme = "", coded] = /^(Basic\s+)([A-Za-z0-9+/]+={0,2})$/i.exec(value) ?? [];
  return coded === undefined ? undefined : { scheme, plain: Buffer.from(coded, "base64").toString("latin1") };
}

/** The target as it goes out. A path holds no secret, ever. */
export function fillTarget(filling: Filling, { path, query }: Target): string {
  refuseLosses(filling, path, "path");
  if (query === "") return path;
  const pairs = query.split("&").map((pair) => {
    const cut = pair.indexOf("=");
    const name = decoded(cut < 0 ? pair : pair.slice(0, cut));
    refuseLosses(filling, name, "query");
    if (cut < 0) return pair;
    const value = decoded(pair.slice(cut + 1));
    const filled = fill(filling, { in: "query", name }, value);
    return filled === value ? pair : `${pair.slice(0, cut)}=${encodeURIComponent(filled)}`;
  });
  return `${path}?${pairs.join("&")}`;
}

export function refuseLosses(
  { losses }: Pick<Filling, "losses">,
  text: string,
  place: Place["in"] | "path",
): void {
  const found = findFirst(Buffer.from(text, "latin1"), losses);
  if (found) throw new Stopped(found.needle.means, place);
}

/** Puts in what may stand here, and refuses what may not. */
export function fill(filling: Filling, place: Place, text: string): string {
  const { usable, to } = filling;
  let [filled, rest] = [text, text];
  for (const { placeholder, value, fits } of usable) {
    if (value === undefined || !text.includes(placeholder) || !fits(to, place)) continue;
    filled = filled.replaceAll(placeholder, () => value);
    rest = rest.replaceAll(placeholder, " ");
  }
  refuseLosses(filling, rest, place.in);
  return filled;
}

/** As servers read it; what cannot be read is taken as it stands. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
