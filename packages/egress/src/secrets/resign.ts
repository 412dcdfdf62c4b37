import { timingSafeEqual } from "node:crypto";
import { type Head, valuesOf } from "../http/head.ts";
import type { BookedSecret, Destination } from "./book.ts";
import { ALGORITHM, type Scope, type Signed, scopeText, sha256, signatureOf } from "./sigv4.ts";
import { Refused } from "./stopped.ts";

type Headers = Head["headers"];

/** A request that was signed inside, with what stands there for the key. */
export interface Resigning {
  /** What is left to be looked through: the signature and the token are written anew. */
  readonly headers: Headers;
  /** Whether only the body itself says what was signed. */
  readonly needsBody: boolean;
  /** The headers with a signature of the real key. Throws where the one that came is wrong. */
  sign(outgoing: Pick<Signed, "target" | "headers">, body: SignedBody | undefined): Headers;
}

export interface SignedBody {
  /** As it came, and as it goes out. */
  readonly came: Buffer;
  readonly goes: Buffer;
}

/** As far as clocks may differ; a signature for another day is made for nobody. */
const MOST_SKEW_MS = 900_000;
const WRITTEN =
  /^AWS4-HMAC-SHA256 Credential=([^\s/,]+)\/(\d{8})\/([^\s/,]+)\/([^\s/,]+)\/aws4_request,\s*SignedHeaders=([a-z0-9;_.-]+),\s*Signature=([0-9a-f]{64})$/;
const UNSIGNED = ["UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"];

/** Nothing where it is signed by no key of ours, or for where ours does not sign: then it is only a word. */
export function findSigned(
  usable: readonly BookedSecret[],
  to: Destination,
  head: Head,
): Resigning | undefined {
  const [written, ...more] = valuesOf(head, "authorization");
  const [, id, day = "", region = "", service = "", names = "", signature = ""] =
    WRITTEN.exec(written ?? "") ?? [];
  const found = usable.find(({ placeholder, signer }) => signer && placeholder === id);
  if (!found?.signer || more.length > 0 || !found.signsFor(to, { region, service })) return undefined;
  const { value, signer } = found;
  const { secret, token } = signer;
  if (value === undefined || secret.value === undefined) return undefined;
  const scope: Scope = { day, region, service };
  const time = timeOf(head, day);
  const covered = names.split(";");
  const said = bodyHashOf(head);
  const tokens = valuesOf(head, "x-amz-security-token");
  const isOurs = tokens.every((one) => one === token.placeholder);
  const kept = head.headers.filter(([name]) => {
    const small = name.toLowerCase();
    return small !== "authorization" && !(isOurs && small === "x-amz-security-token");
  });
  const real = secret.value;
  return {
    headers: kept,
    needsBody: said === undefined,
    sign({ target, headers }, body) {
      const { method } = head;
      const came = { method, target: head.target, headers: head.headers, covered };
      const known = said ?? sha256(body?.came ?? Buffer.alloc(0));
      check(signature, signatureOf(secret.placeholder, scope, time, { ...came, bodyHash: known }));
      const all: Headers = token.value === undefined ? headers : [...headers, [TOKEN, token.value]];
      const goes = {
        method,
        target,
        headers: all,
        covered: coveredIn(covered, all, token.value !== undefined),
        bodyHash: said ?? sha256(body?.goes ?? Buffer.alloc(0)),
      };
      const names = goes.covered.join(";");
      const signed = signatureOf(real, scope, time, goes);
      const credential = `${value}/${scopeText(scope)}`;
      const words = `${ALGORITHM} Credential=${credential}, SignedHeaders=${names}, Signature=${signed}`;
      return [...all, ["Authorization", words]];
    },
  };
}

const TOKEN = "X-Amz-Security-Token";

/** What was signed inside and still goes out, and what has to be. */
function coveredIn(covered: readonly string[], headers: Headers, hasToken: boolean): string[] {
  const there = new Set(headers.map(([name]) => name.toLowerCase()));
  const names = new Set([...covered.filter((name) => there.has(name)), "host", "x-amz-date"]);
  if (hasToken) names.add(TOKEN.toLowerCase());
  return [...names].sort();
}

function timeOf(head: Head, day: string): string {
  const [time = "", ...more] = valuesOf(head, "x-amz-date");
  const [, y, m, d, H, M, S] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time) ?? [];
  const atMs = Date.parse(`${y}-${m}-${d}T${H}:${M}:${S}Z`);
  if (more.length > 0 || !time.startsWith(day) || !(Math.abs(Date.now() - atMs) <= MOST_SKEW_MS)) {
    throw new Refused("it is signed for another time; x-amz-date has to be the time of now");
  }
  return time;
}

/** What the signature says of the body; nothing where it is the body itself that says so. */
function bodyHashOf(head: Head): string | undefined {
  const [said, ...more] = valuesOf(head, "x-amz-content-sha256");
  if (said === undefined) return undefined;
  if (more.length === 0 && (/^[0-9a-f]{64}$/.test(said) || UNSIGNED.includes(said))) return said;
  throw new Refused(
    "its body is signed piece by piece, which is not done again here: sign it as a whole, or UNSIGNED-PAYLOAD",
  );
}

function check(said: string, right: string): void {
  if (timingSafeEqual(Buffer.from(said), Buffer.from(right))) return;
  throw new Refused("it is not signed as the key inside would sign it");
}
