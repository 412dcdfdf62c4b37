import { execOpenSchema, type Principal, type Process, SandboxerError } from "@sandboxer/contract";
import type { WebSocket } from "ws";
import { parseStrictly } from "../json/strict.ts";
import { check } from "../rest/check.ts";
import type { Report } from "../rest/failure.ts";
import type { Ground } from "../rest/route.ts";
import { MOST_WAITING_BYTES, POLICY_VIOLATION, refuseMore, serveSession } from "./exec-session.ts";
import { collect, type Inbox } from "./inbox.ts";

const OPENS_WITHIN_MS = 10_000;

interface Call {
  readonly ground: Ground;
  readonly principal: Principal;
  readonly sandbox: string;
  readonly report: Report;
}

/** Hears what is wanted in the first message, then serves it. */
export async function serveExecSocket(socket: WebSocket, call: Call): Promise<void> {
  const { ground, principal, sandbox, report } = call;
  const inbox = collect(socket, MOST_WAITING_BYTES, () => refuseMore(socket));
  try {
    const process = await open(call, await firstMessage(inbox));
    const release = ground.processes.hold(principal, sandbox, process);
    // Who left meanwhile is not heard of again.
    if (socket.readyState !== socket.OPEN) {
      release();
      return process.detach();
    }
    socket.once("close", release);
    const resize = (size: { cols: number; rows: number }) =>
      ground.core.resize(principal, sandbox, process.id, size);
    await serveSession(socket, inbox, { process, resize, report });
  } catch (error) {
    socket.send(JSON.stringify({ type: "error", error: report(error) }));
    socket.close(POLICY_VIOLATION);
  }
}

async function firstMessage(inbox: Inbox): Promise<unknown> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const refusal = () =>
    new SandboxerError("invalid_request", "the first message says what to run, within ten seconds");
  const timer = setTimeout(() => reject(refusal()), OPENS_WITHIN_MS);
  try {
    const [message, isBinary] = await Promise.race([inbox.next(), late]);
    if (isBinary) throw refusal();
    return parseStrictly(message);
  } finally {
    clearTimeout(timer);
  }
}

function open({ ground: { core }, principal, sandbox }: Call, message: unknown): Promise<Process> {
  const wanted = check(execOpenSchema, message, "body") as ReturnType<typeof execOpenSchema.parse>;
  if (wanted.type === "exec") return core.exec(principal, sandbox, wanted.request);
  const { stdout, stderr } = wanted;
  const from = { ...(stdout !== undefined && { stdout }), ...(stderr !== undefined && { stderr }) };
  return core.attachProcess(principal, sandbox, wanted.process, from);
}
