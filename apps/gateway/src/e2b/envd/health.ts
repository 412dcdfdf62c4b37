import { whenOver } from "../../when-over.ts";
import type { Exchange } from "../exchange.ts";
import { header } from "../exchange.ts";
import { Unreachable } from "../failure.ts";
import { notesOf } from "../labels.ts";

/**
 * Whether a sandbox runs, for whoever knows its id, as E2B's daemon tells it; nothing wakes for that.
 * One that was not made through this door was not made to be open: without a token it is as absent as
 * one that never was, and with one that is to be looked at, `false`.
 */
export async function serveHealth(exchange: Exchange, sandboxId: string): Promise<boolean> {
  const { ground, outgoing, facts } = exchange;
  const { core } = ground;
  const [maker] = await core.makersOf(sandboxId).catch(() => []);
  const sandbox = maker && (await core.get(maker, sandboxId).catch(() => undefined));
  if (!sandbox || notesOf(sandbox).template === undefined) {
    if (header(exchange, "x-access-token") !== undefined) return false;
    throw Unreachable.notFound(sandboxId);
  }
  facts.route = "e2b envd /health";
  // Nobody's key asks, so none is charged with it: strangers could use up the maker's.
  const leave = ground.limits?.enter(`health ${sandboxId}`);
  if (leave) whenOver(outgoing, leave);
  if (sandbox.state !== "running") throw Unreachable.notFound(sandboxId);
  outgoing.writeHead(204).end();
  return true;
}
