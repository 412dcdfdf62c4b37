import { isIP } from "node:net";
import { isOpenAddress, SandboxerError } from "@sandboxer/contract";

const PATIENCE_MS = 15_000;

/** How deliveries get out. Everything but the defaults is for tests, which have only this machine. */
export interface WebhookNetwork {
  resolve(hostname: string): Promise<string[]>;
  isAllowed(address: string): boolean;
  readonly protocols: readonly string[];
  /** How long to wait after each failed try; past the last the webhook is given up. */
  readonly retriesMs: readonly number[];
}

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];

export const OPEN_INTERNET: WebhookNetwork = {
  resolve: async (hostname) => {
    const { lookup } = await import("node:dns/promises");
    return (await lookup(hostname, { all: true })).map(({ address }) => address);
  },
  isAllowed: isOpenAddress,
  protocols: ["https:"],
  retriesMs: [5 * SECOND, 5 * MINUTE, 30 * MINUTE, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR)],
};

/**
 * The address to dial, looked up once. Every address of the name has to be allowed, since a name
 * with one foot inside is a trap; and the one that was checked is the one that is dialled, so the
 * name cannot change its mind in between.
 */
export async function guardedAddress(network: WebhookNetwork, url: URL): Promise<string> {
  if (!network.protocols.includes(url.protocol)) refuse(`${url.protocol}// is not delivered to; use https`);
  if (url.username || url.password) refuse("an address with a password in it would end up in logs");
  const hostname = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(hostname)
    ? [hostname]
    : await network.resolve(hostname).catch(() => refuse(`${hostname} has no address`));
  const [first] = addresses;
  if (first === undefined) return refuse(`${hostname} has no address`);
  if (!addresses.every((address) => network.isAllowed(address))) {
    refuse(`${hostname} leads to an address inside a network`);
  }
  return first;
}

function refuse(message: string): never {
  throw new SandboxerError("policy_denied", `webhook: ${message}`, {
    details: { rule: "webhook.url" },
    hint: "Name a receiver on the open internet, by https.",
  });
}

/** Gives the status and nothing else: what the receiver says is neither followed nor shown. */
export async function post(
  network: WebhookNetwork,
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<number> {
  const address = await guardedAddress(network, url);
  const named = url.protocol === "https:" && !isIP(url.hostname.replace(/^\[|\]$/g, ""));
  // Loaded by need: HTTP takes a short command longer than all else of core.
  const { request } = await (url.protocol === "https:" ? import("node:https") : import("node:http"));
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: address,
      port: url.port || (url.protocol === "https:" ? 443 : 80),
      path: url.pathname + url.search,
      method: "POST",
      headers: { ...headers, host: url.host, "content-length": Buffer.byteLength(body) },
      agent: false,
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
      ...(named && { servername: url.hostname }),
    });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      resolve(response.statusCode ?? 0);
      response.destroy();
    });
    outgoing.end(body);
  });
}
