import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { createConnection, type Socket } from "node:net";
import { join } from "node:path";
import { SandboxerError } from "@sandboxer/contract";
import { Connection } from "../_kit/boxd/index.ts";
import { BOXD_FIX, hasBoxd } from "./boxd-path.ts";

/** How long hold stays without a sandbox and without a client. */
const IDLE_EXIT_MS = 10_000;

/** boxd's exit code for "another hold has this folder". */
const EXIT_ALREADY_HELD = 3;

export interface Hold {
  /** A fresh connection; hold is started first where none runs. */
  connect(explainClose?: () => Promise<SandboxerError>): Promise<Connection>;
  /** One question on the connection kept for that. */
  call(op: string, members?: Record<string, unknown>): Promise<Readonly<Record<string, unknown>>>;
  /** What this machine cannot hold a sandbox to, each with its reason. Asked once of each hold. */
  lacking(): Promise<Readonly<Record<string, string>>>;
  socketOf(boxId: string): string;
  close(): void;
}

export function createHold(dir: string, boxdPath: string): Hold {
  const path = join(dir, "hold.sock");
  let kept: Promise<Connection> | undefined;
  let lacking: Promise<Record<string, string>> | undefined;
  let starting: Promise<void> | undefined;

  const connect = async (explainClose = holdLeft): Promise<Connection> => {
    let socket = await dial(path);
    if (!socket) {
      starting ??= start(dir, boxdPath).finally(() => {
        starting = undefined;
      });
      await starting;
      socket = await dial(path);
    }
    if (!socket) throw new SandboxerError("extension_failed", "boxd hold did not open its socket");
    return new Connection(socket, explainClose);
  };

  const keep = (): Promise<Connection> => {
    kept ??= connect().then(
      (connection) => {
        void connection.closed.then(() => {
          kept = undefined;
          lacking = undefined;
        });
        return connection;
      },
      (error) => {
        kept = undefined;
        throw error;
      },
    );
    return kept;
  };

  return {
    connect,
    async call(op, members = {}) {
      return (await keep()).call(op, members);
    },
    lacking() {
      lacking ??= keep()
        .then((connection) => connection.call("ping"))
        .then((answer) => answer.lacking as Record<string, string>);
      lacking.catch(() => {
        lacking = undefined;
      });
      return lacking;
    },
    socketOf: (boxId) => join(dir, "boxes", boxId, "box.sock"),
    close() {
      void kept?.then((connection) => connection.close());
    },
  };
}

async function holdLeft(): Promise<SandboxerError> {
  return new SandboxerError("extension_failed", "boxd hold closed the connection");
}

/** A connected socket, or nothing where nobody listens. */
export function dial(path: string): Promise<Socket | undefined> {
  const socket = createConnection(path);
  return new Promise((resolve) => {
    socket.once("connect", () => {
      socket.removeAllListeners();
      resolve(socket);
    });
    socket.once("error", () => resolve(undefined));
  });
}

/** boxd puts itself into the background and returns when its socket accepts connections. */
async function start(dir: string, boxdPath: string): Promise<void> {
  if (!hasBoxd(boxdPath)) {
    throw new SandboxerError("extension_unavailable", "boxd has not been built", { hint: BOXD_FIX });
  }
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const child = spawn(boxdPath, ["hold", "--dir", dir, "--idle-exit-ms", String(IDLE_EXIT_MS)], {
    stdio: ["ignore", "ignore", "pipe"],
    env: {},
  });
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-2_000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  if (code === 0 || code === EXIT_ALREADY_HELD) return;
  throw new SandboxerError("extension_unavailable", `boxd hold did not start: ${complaint.trim()}`);
}
