import type { SecureContext } from "node:tls";
import type { Place } from "../http/authority.ts";
import { openUpstream, type Upstream } from "../http/upstream.ts";
import { type Resolve, trapIn, Unreachable } from "../resolve.ts";
import { resolveFor } from "./new-names.ts";
import type { Ward } from "./ward.ts";

/** Who goes to many hosts by one connection to the proxy keeps so many of theirs. */
const MOST_UPSTREAMS = 4;

function leaveOldest(upstreams: Upstreams): void {
  const [oldest] = upstreams;
  if (!oldest || upstreams.size < MOST_UPSTREAMS) return;
  const [key, { upstream }] = oldest;
  upstream.close();
  upstreams.delete(key);
}

/** The far sides of one connection, by host and port. */
export type Upstreams = Map<string, { readonly upstream: Upstream; readonly addresses: readonly string[] }>;

interface Reaching {
  readonly ward: Ward;
  readonly scheme: "http" | "https";
  /** Judged when the connection was. */
  readonly addresses?: readonly string[];
}

/** Each request by the networks that its own rules name, also where another has been there already. */
export async function reach(
  place: Place,
  cidrs: readonly string[],
  { ward, scheme, addresses: judged }: Reaching,
  parts: { readonly resolve: Resolve; readonly trust: SecureContext },
  upstreams: Upstreams,
): Promise<Upstream | Unreachable> {
  const key = `${place.host}:${place.port}`;
  const known = upstreams.get(key);
  const before = known?.addresses ?? judged;
  const trap = before && trapIn(place.host, before, cidrs);
  if (trap) return trap;
  if (known) return known.upstream;
  const resolve = resolveFor(ward, parts.resolve);
  const addresses = before ?? (await resolve(place.host, cidrs).catch(Unreachable.from));
  if (addresses instanceof Unreachable) return addresses;
  const upstream = openUpstream({ scheme, ...place, addresses }, parts.trust, place.host);
  leaveOldest(upstreams);
  upstreams.set(key, { upstream, addresses });
  return upstream;
}
