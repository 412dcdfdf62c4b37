import { SandboxerError } from "@sandboxer/contract";
import type { Desk } from "../desk.ts";
import type { Exchange } from "../exchange.ts";
import { gunzipped } from "../gunzipped.ts";
import { keepUpload } from "./holder.ts";

const GZIP = 0x1f;

/** An archive for COPY, by an address that lets it in once: E2B's clients show no key there. */
export async function serveUpload(exchange: Exchange, desk: Desk, token: string): Promise<void> {
  const { ground, incoming, outgoing, facts } = exchange;
  facts.route = "e2b upload";
  const upload = incoming.method === "PUT" ? desk.builds.takeUpload(token) : undefined;
  if (!upload) throw new SandboxerError("unauthenticated", "this address lets nothing in, or no more");
  const { build, hash } = upload;
  facts.keyId = build.principal.keyId;
  await keepUpload(ground.core, build, hash, await plainOf(exchange));
  outgoing.writeHead(200).end();
}

/** Compressed or not: the first byte says which. */
async function plainOf({ incoming }: Exchange): Promise<AsyncIterable<Uint8Array>> {
  const parts = incoming.iterator({ destroyOnReturn: false });
  const { done, value } = await parts.next();
  const whole = again(done ? Buffer.alloc(0) : (value as Buffer), parts);
  return value?.[0] === GZIP ? gunzipped(whole) : whole;
}

async function* again(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  if (first.length > 0) yield first;
  yield* rest;
}
