import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import type { NetworkCall } from "@sandboxer/contract";
import { mayDial, reachOf } from "./address.ts";
import { ownAddresses } from "./own-addresses.ts";

const TIMEOUT_MS = 3_000;
const TRIES = 2;

/** Gives the addresses to dial, or throws `Unreachable`. */
export type Resolve = (host: string, cidrs: readonly string[]) => Promise<string[]>;

/** In a sentence, why there is nothing to dial; and what would change that. */
export class Unreachable extends Error {
  readonly cure: NetworkCall["cure"];

  constructor(message: string, cure: NetworkCall["cure"]) {
    super(message);
    this.cure = cure;
  }

  static from(error: unknown): Unreachable {
    return error instanceof Unreachable ? error : new Unreachable("its name cannot be resolved", "none");
  }
}

/** Why one of a host's addresses may not be dialled. The address itself is not the sandbox's to know. */
export function trapIn(host: string, addresses: readonly string[], cidrs: readonly string[]) {
  const own = ownAddresses();
  const trap = addresses.find((address) => !mayDial(address, cidrs, own));
  if (trap === undefined) return undefined;
  const where = `${host} leads to an address inside a network`;
  if (reachOf(trap, own) === "never") return new Unreachable(`${where} that no rule can open`, "none");
  return new Unreachable(`${where} that no rule names`, { cidr: `${trap}/${isIP(trap) === 4 ? 32 : 128}` });
}

/**
 * Asks once; what was judged is what is dialled, so a name cannot change its mind in between. A
 * name with one address that may not be dialled is a trap, and none of the others is either.
 */
export function createResolve(servers?: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers?.length) resolver.setServers([...servers]);

  const lookUpTogether = together((host) => lookUp(resolver, host));
  return async (host, cidrs) => {
    const addresses = isIP(host) ? [host] : await lookUpTogether(host);
    if (addresses.length === 0) throw new Unreachable(`${host} has no address`, "none");
    const trap = trapIn(host, addresses, cidrs);
    if (trap) throw trap;
    return [...addresses];
  };
}

/** One question for a whole crowd that asks at the same time; who comes after its answer asks anew. */
function together(ask: (host: string) => Promise<string[]>): (host: string) => Promise<string[]> {
  const asked = new Map<string, Promise<string[]>>();
  return (host) => {
    const known = asked.get(host);
    if (known) return known;
    const answer = ask(host).finally(() => asked.delete(host));
    asked.set(host, answer);
    return answer;
  };
}

/** Both kinds; the older first, since more networks carry it. */
async function lookUp(resolver: Resolver, host: string): Promise<string[]> {
  // A dot at its end, or a name without one would be looked for in this machine's own domain.
  const name = `${host}.`;
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  return [v4, v6].flatMap((outcome) => (outcome.status === "fulfilled" ? outcome.value : []));
}
