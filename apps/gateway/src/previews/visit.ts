import type { IncomingMessage } from "node:http";
import { SandboxerError } from "@sandboxer/contract";
import type { Core, PreviewEntry } from "@sandboxer/core";
import { type PreviewAddress, TOKEN_HEADER, TOKEN_NAME } from "./address.ts";
import { cookiesOf } from "./headers.ts";

/** Someone let in to a port, or told to come again with a cookie instead of a token in the address. */
export type Visit =
  | { readonly entry: PreviewEntry }
  | { readonly cookie: string; readonly location: string; readonly entry: PreviewEntry };

/** For a port that somebody left open to all: who answers for it, or nothing. */
export type Openly = (
  address: PreviewAddress,
  incoming: IncomingMessage,
) => Promise<PreviewEntry | undefined>;

export async function admit(
  core: Core,
  address: PreviewAddress,
  incoming: IncomingMessage,
  openly?: Openly,
): Promise<Visit> {
  if (address.kind === "path") return { entry: await core.enterPreview(address.token) };
  const url = new URL(`http://preview${address.rest}`);
  const inAddress = url.searchParams.get(TOKEN_NAME);
  const header = incoming.headers[TOKEN_HEADER];
  const token = inAddress ?? (typeof header === "string" ? header : cookieOf(incoming, address));
  if (!token) {
    const entry = await openly?.(address, incoming);
    if (entry) return { entry };
    throw new SandboxerError("unauthenticated", "this address is not complete", {
      hint: "Open it as `sandboxer preview <sandbox> <port>` prints it.",
    });
  }
  const entry = await core.enterPreview(token);
  if (entry.sandboxId !== address.sandboxId || entry.port !== address.port) {
    throw new SandboxerError("unauthenticated", "this token is for another address");
  }
  if (inAddress === null) return { entry };
  url.searchParams.delete(TOKEN_NAME);
  const secure = "encrypted" in incoming.socket ? "; Secure" : "";
  const cookie = `${TOKEN_NAME}=${token}; Path=/; HttpOnly; SameSite=Lax${secure}`;
  return { entry, cookie, location: url.pathname + url.search };
}

/** Pages of one sandbox are of the same site as another's: a cookie counts only for its own pages. */
function cookieOf({ headers }: IncomingMessage, { kind }: PreviewAddress): string | undefined {
  const { origin, host = "" } = headers;
  if (kind === "host" && origin !== undefined && !origin.endsWith(`//${host}`)) return undefined;
  const site = headers["sec-fetch-site"];
  const isVisit = headers["sec-fetch-mode"] === "navigate";
  if (!isVisit && (site === "same-site" || site === "cross-site")) return undefined;
  return cookiesOf(headers.cookie).find(([name]) => name === TOKEN_NAME)?.[1];
}
