import { setTimeout as sleep } from "node:timers/promises";
import { SandboxerError } from "@sandboxer/contract";
import { askElsewhere, type IsOpen } from "./elsewhere.ts";

const ANSWERS_WITHIN_MS = 30_000;
const SILENT_AT_MOST_MS = 60_000;
const MOST_REDIRECTS = 5;

/** Whom the operator has named, and where everybody else has to be. */
export interface Whereabouts {
  isNamed(host: string): boolean;
  readonly isOpen: IsOpen;
}

/**
 * One request, and where it leads. What authorizes it goes to no other origin, and whoever the
 * operator has not named is asked only on the open internet.
 */
export async function get(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  { isNamed, isOpen }: Whereabouts,
): Promise<Response> {
  let at = new URL(url);
  let sent = headers;
  for (let count = 0; count <= MOST_REDIRECTS; count++) {
    const answer = await ask(at, sent, signal, isNamed(at.host) ? undefined : isOpen);
    const location = answer.headers.get("location");
    if (![301, 302, 303, 307, 308].includes(answer.status) || location === null) return answer;
    await answer.body?.cancel();
    const next = URL.parse(location, at);
    const isLess = at.protocol === "https:" && next?.protocol !== "https:";
    if (!next || isLess || !/^https?:$/.test(next.protocol))
      throw failed(`${at.host} leads to no good place`);
    if (next.origin !== at.origin) {
      const { authorization: _, ...others } = sent;
      sent = others;
    }
    at = next;
  }
  throw failed(`${new URL(url).host} leads in circles`);
}

async function ask(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  isOpen: IsOpen | undefined,
): Promise<Response> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), ANSWERS_WITHIN_MS);
  try {
    const both = AbortSignal.any([signal, patience.signal]);
    if (isOpen) return await askElsewhere(url, headers, both, isOpen);
    return await fetch(url, { headers, redirect: "manual", signal: both });
  } catch (cause) {
    if (SandboxerError.is(cause)) throw cause;
    if (signal.aborted) throw new SandboxerError("deadline_exceeded", "the pull was given up", { cause });
    const why = patience.signal.aborted ? "does not answer" : "cannot be reached";
    throw new SandboxerError("extension_unavailable", `the registry ${url.host} ${why}`, {
      hint: "Check the name and the network.",
      cause,
    });
  } finally {
    clearTimeout(timer);
  }
}

/** A body as it comes; one that falls silent or breaks off is a failure, never an end. */
export async function* bodyOf(answer: Response): AsyncGenerator<Uint8Array> {
  const reader = answer.body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const patience = new AbortController();
      const silent = sleep(SILENT_AT_MOST_MS, undefined, { signal: patience.signal, ref: false }).then(() => {
        throw failed("the registry fell silent");
      });
      silent.catch(() => {});
      const { done, value } = await Promise.race([reader.read(), silent]).finally(() => patience.abort());
      if (done) return;
      yield value as Uint8Array;
    }
  } catch (cause) {
    throw SandboxerError.is(cause) ? cause : failed("the registry broke off", cause);
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** All of a short one. */
export async function textOf(answer: Response, mostBytes: number, what: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of bodyOf(answer)) {
    length += part.length;
    if (length > mostBytes) throw failed(`${what} is larger than ${mostBytes >> 20} MiB`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

export function failed(message: string, cause?: unknown): SandboxerError {
  return new SandboxerError("extension_failed", message, cause === undefined ? {} : { cause });
}
