import { Caught } from "../dlp/watch.ts";
import type { AskedRequest, Decision } from "../policy/decide.ts";
import { Unreachable } from "../resolve.ts";
import { Refused, Stopped } from "../secrets/stopped.ts";
import { BadFrame } from "../websocket/frames.ts";
import { answerShort, BrokenOff } from "./answer.ts";
import { exchange } from "./exchange.ts";
import { BadRequest, type Head } from "./head.ts";
import type { Incoming } from "./incoming.ts";
import { judgeByEveryMethod } from "./other-methods.ts";
import type { RequestNote, SessionParts } from "./session-parts.ts";

export type Allowed = Exclude<Decision, { verdict: "denied" }>;

/** A request that may be made. */
export interface Making {
  readonly head: Head;
  readonly asked: AskedRequest;
  readonly decision: Allowed;
  /** What the log says of it, whatever comes of it. */
  readonly judged: RequestNote;
}

/** Makes it. True where the connection can be used for the next one. */
export async function make(parts: SessionParts, incoming: Incoming, making: Making): Promise<boolean> {
  const { client, note } = parts;
  const { head, asked, judged, decision } = making;
  const deny = (reason: string, more: Partial<RequestNote> = {}) => {
    note({ ...judged, verdict: "denied", reason, ...more });
    answerShort(client, 403, reason, parts.hint);
    return false;
  };
  const upstream = await parts.reach({ host: asked.host, port: asked.port }, decision.cidrs);
  if (upstream instanceof Unreachable)
    return deny(upstream.message, upstream.cure && { cure: upstream.cure });
  // While the name was looked up, the rules may have changed, or whoever asked may have left.
  if (!isStill(decision, judgeByEveryMethod(parts.decide, asked, head)))
    return deny("the rules have changed");
  if (client.destroyed) {
    note({ ...judged, verdict: "failed", reason: "the program left" });
    return false;
  }
  let release = () => {};
  try {
    const filled = await parts.fill(asked, head);
    release = () => filled.release?.();
    const opened = () => note({ ...judged, status: 101 });
    const { status, isReusable, ended } = await exchange({
      head,
      filled,
      client,
      incoming,
      upstream,
      opened,
    });
    if (ended) note({ ...judged, ...refusalOf(ended) });
    else if (status !== 101) note({ ...judged, status });
    return isReusable;
  } catch (thrown) {
    const error = thrown instanceof BrokenOff ? thrown.cause : thrown;
    if (error instanceof BadRequest && error === thrown) throw error;
    const isRefused = error instanceof Refused;
    note({ ...judged, ...(isRefused ? refusalOf(error) : failureOf(error)) });
    // In the middle of an answer another would be taken for the rest of it.
    if (error !== thrown) client.destroy();
    else if (isRefused) answerShort(client, 403, error.message, parts.hint);
    else answerShort(client, 502, explain(error));
    return false;
  } finally {
    release();
  }
}

/** Whether it is let through by the rules of now as it was by those of a moment ago. */
function isStill(before: Allowed, now: Decision): boolean {
  if (now.verdict !== "allowed" && now.verdict !== before.verdict) return false;
  return before.cidrs.every((cidr) => now.cidrs.includes(cidr));
}

/** For the log: what must not be made although the rules would allow it. */
function refusalOf(error: Refused | BadFrame): Pick<RequestNote, "verdict" | "rule" | "reason" | "misuse"> {
  if (error instanceof BadFrame) return { verdict: "denied", reason: `a frame ${error.message}` };
  const isMisuse = error instanceof Stopped || error instanceof Caught;
  const rule = error instanceof Caught ? "dlp" : "secret";
  return { verdict: "denied", rule, reason: error.message, ...(isMisuse && { misuse: error.misuse }) };
}

function failureOf(error: unknown): Pick<RequestNote, "verdict" | "reason"> {
  if (error instanceof BadRequest) return { verdict: "denied", reason: error.message };
  return { verdict: "failed", reason: explain(error) };
}

/** A code and no more: what the far side says about itself is not ours to repeat. */
function explain(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  return typeof code === "string"
    ? `the host cannot be trusted or reached: ${code}`
    : "the host does not answer";
}
