import { isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { answerShort } from "../http/answer.ts";
import { NotRead } from "../http/head.ts";
import { refuseHttp2 } from "../http/http2.ts";
import { Incoming } from "../http/incoming.ts";
import { endTls } from "../http/inspector.ts";
import { hintFor } from "./hint.ts";
import type { Noted, Ward } from "./ward.ts";

const HTTPS = 443;
/** Who does not begin to speak TLS is none of those who can be told. */
const GREETING_PATIENCE_MS = 5_000;
const PATIENCE_MS = 15_000;
const MOST_BODY_BYTES = 1_048_576;

/** Whether a connection that is denied is told so in TLS of the sandbox's own authority. */
export function isExplained({ terms, explanations }: Ward, { host, port, via, verdict }: Noted): boolean {
  if (verdict !== "denied" || terms.network.denied === "reset") return false;
  // Other ports may be for anything, and a proxy has words of its own.
  if (port !== HTTPS || via !== "name" || !host || isIP(host)) return false;
  return explanations.mayTell(Date.now());
}

/** Hears one request and denies it. There is no far side, and nothing here could open one. */
export async function explain(socket: Socket, ward: Ward, host: string, reason: string): Promise<void> {
  const timer = setTimeout(() => socket.destroy(), PATIENCE_MS);
  socket.once("close", () => clearTimeout(timer));
  try {
    const client = await endTls(socket, host, ward.contextFor(host), GREETING_PATIENCE_MS);
    client.on("error", () => socket.destroy());
    const head = await new Incoming(client).head().catch(notRead);
    if (!head) return void client.end();
    if (head instanceof NotRead) return refuseHttp2(client, `${reason}. ${hintFor(ward.sandbox)}`);
    answerShort(client, 403, reason, hintFor(ward.sandbox));
    drain(client);
  } catch {
    socket.destroy();
  }
}

/** What can be answered all the same. */
function notRead(error: unknown): NotRead {
  if (error instanceof NotRead) return error;
  throw error;
}

/** Who still sends a body reads the answer only then. */
function drain(client: Duplex): void {
  let left = MOST_BODY_BYTES;
  client.removeAllListeners("readable");
  client.on("data", ({ length }: Buffer) => {
    left -= length;
    if (left < 0) client.destroy();
  });
}
