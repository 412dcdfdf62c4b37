import { isIP, type LookupFunction } from "node:net";
import { Readable } from "node:stream";
import { SandboxerError } from "@sandboxer/contract";

/** Whether an address is on the open internet, as far as this machine knows. */
export type IsOpen = (address: string) => boolean;

/** Looks up once; a name with one foot inside is a trap, and what was judged is what is dialled. */
function lookUpWith(isOpen: IsOpen): LookupFunction {
  return (hostname, { all }, done) => {
    const { lookup } = process.getBuiltinModule("node:dns");
    lookup(hostname, { all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error || !first) return done(error ?? new Error("it has no address"), "", 0);
      if (!addresses.every(({ address }) => isOpen(address))) return done(ledInside(hostname), "", 0);
      if (all) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}

/** Asks somebody whom a registry has led us to, if they are on the open internet. */
export function askElsewhere(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  isOpen: IsOpen,
): Promise<Response> {
  const literal = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(literal) && !isOpen(literal)) return Promise.reject(ledInside(url.hostname));
  return new Promise((resolve, reject) => {
    // Only now: most who load this pull nothing.
    const { request: send } = process.getBuiltinModule(
      url.protocol === "https:" ? "node:https" : "node:http",
    );
    const outgoing = send(url, { headers, signal, lookup: lookUpWith(isOpen), agent: false });
    outgoing.once("error", reject);
    outgoing.once("response", (incoming) => {
      const { statusCode: status = 502, headers: said } = incoming;
      const told = Object.entries(said).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)] as [string, string]],
      );
      const isBare = [204, 205, 304].includes(status);
      if (isBare) incoming.resume();
      const body = isBare ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
      resolve(new Response(body, { status, headers: told }));
    });
    outgoing.end();
  });
}

function ledInside(host: string): SandboxerError {
  return new SandboxerError("policy_denied", `the registry leads to ${host}, which is inside a network`, {
    details: { rule: "images.registries" },
    hint: "If that is meant, the operator names it in images.registries.",
  });
}
