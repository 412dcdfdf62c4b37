import { timingSafeEqual } from "node:crypto";
import { request } from "node:http";
import { pipeline } from "node:stream/promises";
import { type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { inwards, outwards } from "../previews/headers.ts";
import { tunnelOf } from "../previews/tunnel.ts";
import { whenOver } from "../when-over.ts";
import type { Address } from "./address.ts";
import type { Desk } from "./desk.ts";
import { type Exchange, header } from "./exchange.ts";
import { Unreachable } from "./failure.ts";
import { notesOf } from "./labels.ts";
import { trafficToken } from "./traffic.ts";
import { wakeOnUse } from "./wake.ts";

const TRAFFIC_HEADER = "e2b-traffic-access-token";
/** How somebody was let in is nothing for a program inside. */
const NOT_FOR_INSIDE = ["host", TRAFFIC_HEADER, "e2b-sandbox-id", "e2b-sandbox-port", "x-access-token"];

type PortAddress = Extract<Address, { kind: "sandbox" }>;

/** A port inside, for anybody who knows its name, or for who has the word where it is not public. */
export async function servePort(exchange: Exchange, desk: Desk, address: PortAddress): Promise<void> {
  const { incoming, outgoing, ground, facts } = exchange;
  facts.route = "e2b port";
  const { sandbox, maker } = await openSandbox(exchange, desk, address.sandboxId);
  facts.keyId = maker.keyId;
  const leave = ground.limits?.enter(maker.keyId);
  if (leave) whenOver(outgoing, leave);
  const asking = await ask(exchange, sandbox, maker, address);
  whenOver(outgoing, () => asking.destroy());
  const answered = new Promise<typeof incoming>((resolve, reject) =>
    asking.once("response", resolve).once("error", reject),
  );
  pipeline(incoming, asking).catch(() => {});
  const answer = await answered.catch(() => {
    throw Unreachable.closed(sandbox.id, address.port);
  });
  outgoing.writeHead(answer.statusCode ?? 502, outwards(answer.headers, "host"));
  await pipeline(answer, outgoing);
}

/** Only what was made through this door was made to be open; anything else is a preview's affair. */
export async function isOpened(core: Core, sandboxId: string): Promise<boolean> {
  try {
    return notesOf(await core.get(await core.standIn(sandboxId), sandboxId)).template !== undefined;
  } catch {
    return false;
  }
}

/** Asked for by nobody in particular: whoever made it answers for what it left open. */
export async function openSandbox(
  exchange: Pick<Exchange, "ground" | "incoming">,
  desk: Desk,
  sandboxId: string,
) {
  const { core } = exchange.ground;
  const absent = () => {
    throw Unreachable.notFound(sandboxId);
  };
  const maker = await core.standIn(sandboxId).catch(absent);
  const found = await core.get(maker, sandboxId).catch(absent);
  if (notesOf(found).template === undefined) absent();
  if (notesOf(found).public === "false") await refuseStranger(exchange, found);
  const sandbox = await wakeOnUse(core, desk, maker, found);
  return sandbox.state === "running" ? { sandbox, maker } : absent();
}

async function refuseStranger(
  exchange: Pick<Exchange, "ground" | "incoming">,
  sandbox: Sandbox,
): Promise<void> {
  const given = Buffer.from(header(exchange, TRAFFIC_HEADER) ?? "");
  const right = Buffer.from(await trafficToken(exchange.ground.core, sandbox));
  if (given.length === right.length && timingSafeEqual(given, right)) return;
  throw Unreachable.private(sandbox.id, given.length === 0);
}

async function ask(
  { incoming, ground }: Exchange,
  sandbox: Sandbox,
  maker: Principal,
  { port }: PortAddress,
) {
  const stream = await ground.core.dial(maker, sandbox.id, port).catch((error) => {
    if (SandboxerError.from(error).code === "port_closed") throw Unreachable.closed(sandbox.id, port);
    throw error;
  });
  const mask = notesOf(sandbox)["mask-host"]?.replaceAll("${PORT}", String(port));
  const host = mask ?? incoming.headers.host;
  const chunked = incoming.headers["transfer-encoding"] !== undefined;
  const headers = inwards(incoming.headers, {
    connection: "close",
    ...(chunked && { "transfer-encoding": "chunked" }),
  });
  for (const name of NOT_FOR_INSIDE) delete headers[name];
  const tunnel = tunnelOf(stream);
  // In E2B's spelling, which programs inside may look for.
  const named = { ...headers, Host: host };
  return request({
    method: incoming.method,
    path: incoming.url,
    headers: named,
    createConnection: () => tunnel,
  });
}
