import { Buffer } from "node:buffer";
import { type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import { whenOver } from "../../when-over.ts";
import type { Desk } from "../desk.ts";
import { type Exchange, header } from "../exchange.ts";
import { Unreachable } from "../failure.ts";
import { wakeOnUse } from "../wake.ts";
import { refuseExpired, type Signed } from "./signatures.ts";
import type { Visit } from "./visit.ts";

/** Lets in who has the sandbox's token, or a file's signature made with it. */
export async function admit(exchange: Exchange, desk: Desk, sandboxId: string): Promise<Visit> {
  const { ground, outgoing, facts } = exchange;
  const principal = await principalOf(exchange, desk, sandboxId);
  facts.keyId = principal.keyId;
  const leave = ground.limits?.enter(principal.keyId);
  if (leave) whenOver(outgoing, leave);
  const sandbox = await running(exchange, desk, principal, sandboxId);
  const user = userOf(exchange);
  return { ...exchange, desk, principal, sandbox, user };
}

async function principalOf(exchange: Exchange, desk: Desk, sandboxId: string): Promise<Principal> {
  const { core } = exchange.ground;
  const token = header(exchange, "x-access-token");
  if (token !== undefined) return core.enterAccess(sandboxId, token);
  const signed = signedOf(exchange);
  if (!signed) throw new SandboxerError("unauthenticated", "the request carries no access token");
  await desk.leftSigned;
  if (!desk.signatures.knows(sandboxId)) {
    // Whoever made it has the same token as ever; others get theirs when they connect.
    const maker = await core.standIn(sandboxId).catch(() => undefined);
    if (maker) desk.signatures.learn(sandboxId, await core.openAccess(maker, sandboxId));
  }
  const found = desk.signatures.find(signed, sandboxId);
  if (!found) throw new SandboxerError("unauthenticated", "invalid signature");
  refuseExpired(signed);
  return core.enterAccess(sandboxId, found.token);
}

/** The sandbox of an address that names none. */
export async function sandboxOfSignature(exchange: Exchange, desk: Desk): Promise<string> {
  const signed = signedOf(exchange);
  await desk.leftSigned;
  const found = signed && desk.signatures.find(signed);
  if (found) return found.sandboxId;
  throw new SandboxerError("unauthenticated", "invalid signature");
}

function signedOf({ incoming, url }: Exchange): Signed | undefined {
  const { searchParams: query, pathname } = url;
  const signature = query.get("signature");
  const operations: Readonly<Record<string, Signed["operation"]>> = { GET: "read", POST: "write" };
  const operation = operations[incoming.method ?? ""];
  if (pathname !== "/files" || signature === null || !operation) return undefined;
  return {
    operation,
    signature,
    path: query.get("path") ?? "",
    username: query.get("username") ?? "",
    expiration: query.get("signature_expiration") ?? undefined,
  };
}

async function running(exchange: Exchange, desk: Desk, principal: Principal, id: string): Promise<Sandbox> {
  const { core } = exchange.ground;
  const found = await core.get(principal, id).catch((error) => {
    if (SandboxerError.from(error).code === "not_found") throw Unreachable.notFound(id);
    throw error;
  });
  const sandbox = exchange.url.pathname === "/health" ? found : await wakeOnUse(core, desk, principal, found);
  if (sandbox.state === "running") return sandbox;
  throw Unreachable.notFound(id);
}

/** A name without a password, or the one of a signed address. */
function userOf({ incoming: { headers }, url }: Exchange): string | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/=]{1,512})$/i.exec(headers.authorization ?? "") ?? [];
  if (encoded !== undefined)
    return Buffer.from(encoded, "base64").toString("utf8").split(":")[0] || undefined;
  return url.searchParams.get("username") || undefined;
}
