import { answerShort } from "./answer.ts";
import { destinationOf } from "./authority.ts";
import { BadRequest, NotRead } from "./head.ts";
import { refuseHttp2 } from "./http2.ts";
import { Incoming } from "./incoming.ts";
import { make } from "./making.ts";
import { judgeByEveryMethod } from "./other-methods.ts";
import type { SessionParts } from "./session-parts.ts";

/** Request after request, each judged by the rules of its moment. */
export async function serveSession(parts: SessionParts): Promise<void> {
  const { client, note } = parts;
  const incoming = new Incoming(client);
  try {
    while (await serveOne(parts, incoming));
    client.end();
  } catch (error) {
    const isBad = error instanceof BadRequest;
    const reason = isBad ? error.message : "the host does not answer as it should";
    note({ ...(parts.place && { place: parts.place }), verdict: isBad ? "denied" : "failed", reason });
    if (error instanceof NotRead) refuseHttp2(client, reason);
    else answerShort(client, isBad ? 400 : 502, reason);
  } finally {
    parts.asking(undefined);
  }
}

async function serveOne(parts: SessionParts, incoming: Incoming): Promise<boolean> {
  const { client, scheme, decide, note, hint } = parts;
  const head = await incoming.head();
  if (!head) return false;
  const { method } = head;
  if (method === "CONNECT" || method === "TRACE") throw new BadRequest(`${method} within a connection`);
  const { host, port, path, query } = destinationOf(head, scheme, parts.place);
  const asked = { scheme, host, port, method, path, query };
  const decision = judgeByEveryMethod(decide, asked, head);
  const told = { place: { host, port }, method, path, scheme };
  if (decision.verdict === "denied") {
    const { rule, reason } = decision;
    note({ ...told, verdict: "denied", reason, ...(rule && { rule }) });
    answerShort(client, 403, reason, hint);
    return false;
  }
  const { rule } = decision;
  const verdict = decision.verdict === "asked" ? "allowed" : decision.verdict;
  const judged = { ...told, verdict, ...(rule && { rule }) };
  if (decision.verdict === "asked") {
    const isAllowed = await parts.ask(asked, rule);
    // While somebody decided, the rules may have changed.
    const hasChanged = isAllowed && judgeByEveryMethod(decide, asked, head).verdict === "denied";
    if (!isAllowed || hasChanged) {
      const reason = hasChanged ? "the rules have changed" : "nobody allowed it";
      note({ ...told, verdict: "denied", rule: "approval", reason });
      answerShort(client, 403, reason, hint);
      return false;
    }
  }
  parts.asking(asked);
  try {
    return await make(parts, incoming, { head, asked, decision, judged });
  } finally {
    parts.asking(undefined);
  }
}
