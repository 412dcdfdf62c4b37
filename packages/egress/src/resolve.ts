import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { mayDial } from "./address.ts";

const TIMEOUT_MS = 3_000;
const TRIES = 2;

/** Gives the addresses to dial, or throws a sentence that says why none. */
export type Resolve = (host: string, cidrs: readonly string[]) => Promise<string[]>;

class Unreachable extends Error {}

/** In a sentence, why there is nothing to dial. */
export function reasonOf(error: unknown): string {
  return error instanceof Unreachable ? error.message : "its name cannot be resolved";
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
    if (addresses.length === 0) throw new Unreachable(`${host} has no address`);
    if (!addresses.every((address) => mayDial(address, cidrs))) {
      throw new Unreachable(`${host} leads to an address inside a network`);
    }
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
