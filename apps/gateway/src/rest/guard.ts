import { type Principal, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";

/** Names this gateway answers to, and pages that may call it, besides the safe defaults. */
export interface Allowed {
  readonly hosts?: readonly string[];
  readonly origins?: readonly string[];
}

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

/**
 * A page on any website can make a browser on this machine send requests to loopback. A foreign
 * name in Host is DNS rebinding; a foreign Origin is such a page. Neither gets as far as a key.
 */
export function checkHost(request: Request, allowed: Allowed): boolean {
  // A request within this process has no Host of its own.
  const host = request.headers.get("host") ?? new URL(request.url).host;
  return LOOPBACK.test(host) || (allowed.hosts ?? []).includes(host.toLowerCase());
}

export function checkOrigin(request: Request, allowed: Allowed): boolean {
  const origin = request.headers.get("origin");
  return origin === null || (allowed.origins ?? []).includes(origin);
}

/** Only headers are looked at: a key in an address ends up in logs and histories. */
export async function authenticate(core: Core, headers: Headers): Promise<Principal> {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  const key = bearer ?? headers.get("x-api-key");
  if (!key) throw new SandboxerError("unauthenticated", "the request carries no key");
  if (key.length > 512) throw new SandboxerError("unauthenticated", "the key is not valid");
  const principal = await core.authenticate(key);
  const attachmentId = headers.get("sandboxer-attachment");
  return attachmentId === null ? principal : { ...principal, attachmentId };
}
