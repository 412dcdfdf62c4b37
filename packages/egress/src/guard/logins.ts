import type { Socket } from "node:net";
import { attachmentOf, userMayUse } from "../policy/users.ts";
import { type Signature, serveAgent } from "../ssh/agent.ts";
import type { Questions } from "./questions.ts";
import type { Noted, Ward } from "./ward.ts";

/** A program that asks the SSH agent. */
export interface Asking {
  readonly ward: Ward;
  readonly uid: number;
}

export interface LoginParts {
  note(sandbox: string, call: Noted): void;
  readonly ask: Questions["ask"];
}

const SSH_PORT = 22;

/** By the keys and the users of each moment. The connection itself is judged by the rules, as any is. */
export async function serveLogins(
  socket: Socket,
  { ward, uid }: Asking,
  { note, ask }: LoginParts,
): Promise<void> {
  const { sandbox } = ward;
  const attachmentId = attachmentOf(ward.users, uid);
  const whose = attachmentId ? { attachmentId } : {};
  const left = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const toldOf = ({ host, hostKey, key }: Signature) => ({
    ...(host !== "" && { host }),
    ...(hostKey && { hostKey }),
    key,
    port: SSH_PORT,
  });
  socket.on("error", () => socket.destroy());
  try {
    await serveAgent(socket, {
      keys: () => ward.keys.filter(({ name }) => userMayUse(ward.users, uid, name)),
      ask: (signature) => {
        const call = { kind: "signature", protocol: "ssh", port: SSH_PORT, ...signature, ...whose } as const;
        return ask(sandbox, call, left);
      },
      note: (signature, verdict, reason) =>
        note(sandbox, {
          ...{ atMs: Date.now(), via: "ssh-agent", method: "SIGN", verdict, rule: "secret" },
          ...toldOf(signature),
          ...whose,
          ...(reason && { reason }),
        }),
    });
  } catch {
    socket.destroy();
  }
}
