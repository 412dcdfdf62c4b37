import { type Principal, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import type { Asked } from "../exchange.ts";

/** Names this gateway answers to, and pages that may call it, besides the safe defaults. */
export interface Allowed {
  readonly hosts?: readonly string[];
  readonly origins?: readonly string[];
}

interface Refusal {
  readonly error: SandboxerError;
  readonly status: number;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * A page on any website can make a browser on this machine send requests to loopback. A foreign
 * name in Host is DNS rebinding; a foreign Origin is such a page. Neither gets as far as a key.
 */
export function refusalOf(
  headers: Asked["headers"],
  { hosts = [], origins = [] }: Allowed,
  // A request within this process has no Host of its own.
  host = headers.get("host") ?? "",
): Refusal | undefined {
  const misdirected = refusalOfHost(host, { hosts });
  if (misdirected) return misdirected;
  const origin = headers.get("origin");
  if (origin === null || origins.includes(origin)) return undefined;
  const error = new SandboxerError("policy_denied", "web pages of that origin may not call this gateway", {
    hint: "Name the origin in SANDBOXER_ALLOWED_ORIGINS.",
  });
  return { error, status: 403 };
}

/** By its name alone: for what pages of any origin may ask for. */
export function refusalOfHost(host: string, { hosts = [] }: Allowed): Refusal | undefined {
  const name = host.toLowerCase();
  // Named without a port, a host is answered on whichever it is reached by.
  if (LOOPBACK.test(name) || hosts.includes(name) || hosts.includes(name.replace(/:\d{1,5}$/, ""))) {
    return undefined;
  }
  const error = new SandboxerError("invalid_request", "this gateway does not answer to that host name", {
    hint: "Use 127.0.0.1 or localhost, or name the host in SANDBOXER_ALLOWED_HOSTS.",
  });
  return { error, status: 421 };
}

/** Only headers are looked at: a key in an address ends up in logs and histories. */
export async function authenticate(core: Core, headers: Asked["headers"]): Promise<Principal> {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  const key = bearer ?? headers.get("x-api-key");
  if (!key) throw new SandboxerError("unauthenticated", "the request carries no key");
  if (key.length > 512) throw new SandboxerError("unauthenticated", "the key is not valid");
  const principal = await core.authenticate(key);
  const attachmentId = headers.get("sandboxer-attachment");
  return attachmentId === null ? principal : { ...principal, attachmentId };
}
