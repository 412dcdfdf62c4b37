import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  type ExecRequest,
  type Exit,
  newRowId,
  type Process,
  type ProcessEvent,
  SandboxerError,
} from "@sandboxer/contract";

/** A child process in a folder; it dies with the connection, and its reader learns of the folder's end. */
export async function startProcess(
  cwd: string,
  request: ExecRequest,
  closed: Promise<void>,
): Promise<Process> {
  const [program = "", ...rest] = request.argv;
  const child = spawn(program, rest, { cwd, env: { PATH: process.env.PATH, ...request.env } });
  closed.then(() => child.kill("SIGKILL"));
  await once(child, "spawn").catch((cause) => {
    if (!existsSync(cwd)) throw new SandboxerError("sandbox_gone", "the box is gone", { cause });
    throw new SandboxerError("command_not_found", `no program ${program}`, { cause });
  });
  if (!request.stdin) child.stdin.end();
  const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  async function* events(): AsyncGenerator<ProcessEvent> {
    let offset = 0;
    for await (const data of child.stdout) {
      yield { type: "stdout", offset, data };
      offset += data.length;
    }
    const [code, signal] = await ended;
    if (!existsSync(cwd)) throw new SandboxerError("sandbox_gone", "the box is gone");
    const exit: Exit = code === null ? { kind: "signalled", signal: `${signal}` } : { kind: "exited", code };
    yield { type: "exit", exit };
  }
  return {
    id: newRowId("req"),
    events: events(),
    writeStdin: async (data) => void child.stdin.write(data),
    closeStdin: async () => void child.stdin.end(),
    signal: async (signal) => void child.kill(`SIG${signal}`),
    detach: () => void child.stdout.destroy(),
  };
}
