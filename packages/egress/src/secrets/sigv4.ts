import { createHash, createHmac } from "node:crypto";

/** How AWS signs a request, version 4, with the signature in a header. Pure. */
export const ALGORITHM = "AWS4-HMAC-SHA256";

export interface Signed {
  readonly method: string;
  /** As it goes over the wire: path and query. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Names of those that the signature covers, in small letters. */
  readonly covered: readonly string[];
  /** Of the body, or the word that says it is not signed. */
  readonly bodyHash: string;
}

export interface Scope {
  /** As in `20260102`. */
  readonly day: string;
  readonly region: string;
  readonly service: string;
}

export const scopeText = ({ day, region, service }: Scope): string =>
  `${day}/${region}/${service}/aws4_request`;

/** `time` is as in `20260102T030405Z`. */
export function signatureOf(secret: string, scope: Scope, time: string, signed: Signed): string {
  const asked = sha256(Buffer.from(canonicalRequest(scope.service, signed), "latin1"));
  const words = [ALGORITHM, time, scopeText(scope), asked].join("\n");
  const steps = [scope.day, scope.region, scope.service, "aws4_request"];
  const key = steps.reduce<Buffer>((before, step) => hmac(before, step), Buffer.from(`AWS4${secret}`));
  return hmac(key, words).toString("hex");
}

export function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const hmac = (key: Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();

function canonicalRequest(service: string, { method, target, headers, covered, bodyHash }: Signed): string {
  const cut = target.indexOf("?");
  const path = cut < 0 ? target : target.slice(0, cut);
  const names = [...covered].sort();
  const lines = names.map((name) => `${name}:${joined(headers, name)}\n`).join("");
  return [
    method,
    canonicalPath(service, path),
    canonicalQuery(cut < 0 ? "" : target.slice(cut + 1)),
    lines,
    names.join(";"),
    bodyHash,
  ].join("\n");
}

function joined(headers: Signed["headers"], name: string): string {
  return headers
    .filter(([one]) => one.toLowerCase() === name)
    .map(([, value]) => value.trim().replaceAll(/ +/g, " "))
    .join(",");
}

/** S3 takes names of objects as they are; all others escape what is already escaped once more. */
function canonicalPath(service: string, path: string): string {
  const isPlain = service === "s3" || service.startsWith("s3-");
  return escaped(isPlain ? unescaped(path) : Buffer.from(path, "latin1"), "/");
}

function canonicalQuery(query: string): string {
  if (query === "") return "";
  const pairs = query.split("&").map((pair) => {
    const cut = pair.indexOf("=");
    const word = (text: string) => escaped(unescaped(text.replaceAll("+", " ")), "");
    return [word(cut < 0 ? pair : pair.slice(0, cut)), cut < 0 ? "" : word(pair.slice(cut + 1))] as const;
  });
  const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return pairs
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

function unescaped(text: string): Buffer {
  return Buffer.from(
    text.replaceAll(/%([0-9a-f]{2})/gi, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    ),
    "latin1",
  );
}

function escaped(bytes: Buffer, kept: string): string {
  return [...bytes.toString("latin1")]
    .map((one) =>
      /[A-Za-z0-9_.~-]/.test(one) || one === kept
        ? one
        : `%${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
    )
    .join("");
}
