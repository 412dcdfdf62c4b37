import { once } from "node:events";
import { execOpenSchema, type Principal, type Process, SandboxerError } from "@sandboxer/contract";
import type { WebSocket } from "ws";
import { check } from "../rest/check.ts";
import type { Report } from "../rest/failure.ts";
import type { Ground } from "../rest/route.ts";
import { fromJson, POLICY_VIOLATION, serveSession } from "./exec-session.ts";

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
  try {
    const process = await open(call, await firstMessage(socket));
    const release = ground.processes.hold(principal, sandbox, process);
    socket.once("close", release);
    if (socket.readyState !== socket.OPEN) return process.detach();
    const resize = (size: { cols: number; rows: number }) =>
      ground.core.resize(principal, sandbox, process.id, size);
    await serveSession(socket, { process, resize, report });
  } catch (error) {
    socket.send(JSON.stringify({ type: "error", error: report(error) }));
    socket.close(POLICY_VIOLATION);
  }
}

async function firstMessage(socket: WebSocket): Promise<unknown> {
  const refuse = () => {
    throw new SandboxerError("invalid_request", "the first message says what to run, within ten seconds");
  };
  const signal = AbortSignal.timeout(OPENS_WITHIN_MS);
  const [message, isBinary] = await once(socket, "message", { signal }).catch(refuse);
  return isBinary ? refuse() : fromJson(message);
}

function open({ ground: { core }, principal, sandbox }: Call, message: unknown): Promise<Process> {
  const wanted = check(execOpenSchema, message, "body") as ReturnType<typeof execOpenSchema.parse>;
  if (wanted.type === "exec") return core.exec(principal, sandbox, wanted.request);
  const { stdout, stderr } = wanted;
  const from = { ...(stdout !== undefined && { stdout }), ...(stderr !== undefined && { stderr }) };
  return core.attachProcess(principal, sandbox, wanted.process, from);
}
