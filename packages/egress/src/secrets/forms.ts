/** A secret as it looks when it was written in one of the usual ways. */
export interface Form {
  readonly kind: "raw" | "url" | "base64" | "hex";
  readonly bytes: Buffer;
}

/** Signs that writers of JSON escape although nobody has to: PHP's, Go's, .NET's. */
const JSON_WRITERS: readonly Readonly<Record<string, string>>[] = [
  { "/": "\\/" },
  { "&": "\\u0026", "<": "\\u003c", ">": "\\u003e" },
  { "&": "\\u0026", "<": "\\u003C", ">": "\\u003E", "+": "\\u002B", "'": "\\u0027" },
];
/** And those of HTML, which agree on the first four. */
const HTML = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const HTML_WRITERS: readonly Readonly<Record<string, string>>[] = [
  { ...HTML, "'": "&#39;" },
  { ...HTML, "'": "&#039;" },
  { ...HTML, "'": "&#x27;" },
  { ...HTML, "'": "&#39;", "/": "&#x2F;", "=": "&#x3D;", "`": "&#x60;" },
];

/**
 * Each of the ways, once. In base64 it looks different at each of three offsets, and its ends depend
 * on what is around it: the middle, which does not, is what is looked for.
 */
export function formsOf(text: string): Form[] {
  const plain = Buffer.from(text);
  const found = new Map<string, Form["kind"]>([[text, "raw"]]);
  const add = (form: string, kind: Form["kind"]) => found.has(form) || found.set(form, kind);
  const json = JSON.stringify(text).slice(1, -1);
  add(json, "raw");
  for (const signs of JSON_WRITERS) add(escapedBy(signs, json), "raw");
  for (const signs of HTML_WRITERS) add(escapedBy(signs, text), "raw");
  const units = [...plain].map((byte) => byte.toString(16).padStart(4, "0"));
  for (const form of [units, units.map((unit) => unit.toUpperCase())])
    add(form.map((unit) => `\\u${unit}`).join(""), "raw");
  const escaped = encodeURIComponent(text);
  for (const form of [escaped, escaped.replaceAll(/%../g, (two) => two.toLowerCase())]) add(form, "url");
  add(escaped.replaceAll("%20", "+"), "url");
  add(escaped.replaceAll("%2F", "/"), "url");
  add(
    escaped.replaceAll(/[!'()*~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`),
    "url",
  );
  add([...plain].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""), "url");
  add([...plain].map((byte) => `%${byte.toString(16).padStart(2, "0").toUpperCase()}`).join(""), "url");
  for (const offset of [0, 1, 2]) {
    const middle = base64Middle(plain, offset);
    for (const form of [middle, middle.replaceAll("+", "-").replaceAll("/", "_")]) add(form, "base64");
  }
  const hex = plain.toString("hex");
  add(hex, "hex");
  add(hex.toUpperCase(), "hex");
  return [...found].map(([form, kind]) => ({ kind, bytes: Buffer.from(form, "latin1") }));
}

const escapedBy = (signs: Readonly<Record<string, string>>, text: string): string =>
  text.replaceAll(/[^\w\\]/g, (sign) => signs[sign] ?? sign);

function base64Middle(plain: Buffer, offset: number): string {
  const whole = Buffer.concat([Buffer.alloc(offset), plain])
    .toString("base64")
    .replaceAll("=", "");
  const first = Math.ceil((offset * 8) / 6);
  const last = Math.floor(((offset + plain.length) * 8) / 6);
  return whole.slice(first, last);
}
