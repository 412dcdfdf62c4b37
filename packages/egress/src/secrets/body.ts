import { decoded, type Filling, fill } from "./head.ts";
import type { Loss } from "./loss.ts";
import { findFirst, replaceIn } from "./scan.ts";
import { Stopped } from "./stopped.ts";

/** A body that a secret is put into is read as a whole, so it has to be small. */
const MOST_BYTES = 262_144;

export type BodyKind = "json" | "form" | "other";

export function kindOf(contentType: string | undefined): BodyKind {
  const type = contentType?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type === "application/json" || type.endsWith("+json")) return "json";
  return type === "application/x-www-form-urlencoded" ? "form" : "other";
}

/** Passes a body on; throws before the whole of a secret has left. */
export function guardBody({ losses }: Filling, body: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  return replaceIn(body, losses, ({ means }) => {
    throw new Stopped(means, "body");
  });
}

/** The body as a whole where it is small enough to be one; what was read of it otherwise. */
export async function gather(
  body: AsyncIterator<Buffer>,
  mostBytes = MOST_BYTES,
): Promise<{ readonly bytes: Buffer; readonly isWhole: boolean }> {
  const parts: Buffer[] = [];
  for (let bytes = 0; bytes <= mostBytes; ) {
    const { done, value } = await body.next();
    if (done) return { bytes: Buffer.concat(parts), isWhole: true };
    parts.push(value);
    bytes += value.length;
  }
  return { bytes: Buffer.concat(parts), isWhole: false };
}

/** The same body with its secrets in place: only what was a placeholder is written differently. */
export function fillBody(filling: Filling, kind: BodyKind, bytes: Buffer): Buffer {
  const text = bytes.toString("latin1");
  const known = filling.usable.filter(({ placeholder }) => text.includes(placeholder));
  if (known.length === 0 || kind === "other") {
    refuse(filling.losses, bytes);
    return bytes;
  }
  return Buffer.from(kind === "form" ? fillForm(filling, text) : fillJson(filling, text), "latin1");
}

function refuse(losses: Filling["losses"], bytes: Buffer): void {
  const found = findFirst<Loss>(bytes, losses);
  if (found) throw new Stopped(found.needle.means, "body");
}

function fillForm(filling: Filling, text: string): string {
  return text
    .split("&")
    .map((pair) => {
      const cut = pair.indexOf("=");
      const name = cut < 0 ? pair : pair.slice(0, cut);
      refuse(filling.losses, Buffer.from(decoded(name), "latin1"));
      if (cut < 0) return pair;
      const value = decoded(pair.slice(cut + 1));
      const filled = fill(filling, { in: "body", name: decoded(name) }, value);
      return filled === value ? pair : `${name}=${encodeURIComponent(filled)}`;
    })
    .join("&");
}

/**
 * Each placeholder has to stand in exactly one string of the document, and that string in a cell of
 * its own. What stands in the text more often than in its strings was meant to be read in two ways.
 */
function fillJson(filling: Filling, text: string): string {
  const strings = stringsOf(Buffer.from(text, "latin1").toString("utf8"));
  let filled = text;
  for (const { name: secret, placeholder, value, fits } of filling.usable) {
    const written = text.split(placeholder).length - 1;
    if (written === 0) continue;
    const holders = strings.filter(({ text: one }) => one.includes(placeholder));
    const isRight = holders.every(({ pointer }) => fits(filling.to, { in: "body", name: pointer }));
    const isAll =
      holders.reduce((sum, { text: one }) => sum + one.split(placeholder).length - 1, 0) === written;
    if (value === undefined || !isRight || !isAll) throw new Stopped({ secret, what: "placeholder" }, "body");
    filled = filled.replaceAll(placeholder, () => JSON.stringify(value).slice(1, -1));
  }
  const rest = filling.usable.reduce((left, { placeholder }) => left.replaceAll(placeholder, " "), text);
  refuse(filling.losses, Buffer.from(rest, "latin1"));
  return filled;
}

/** Every string of a document with its pointer; names of members have none that a cell could have. */
function stringsOf(text: string): { pointer: string; text: string }[] {
  const found: { pointer: string; text: string }[] = [];
  const walk = (value: unknown, pointer: string): void => {
    if (typeof value === "string") found.push({ pointer, text: value });
    if (typeof value !== "object" || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      found.push({ pointer: "", text: name });
      walk(inner, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    }
  };
  try {
    walk(JSON.parse(text), "");
  } catch {
    return [];
  }
  return found;
}
