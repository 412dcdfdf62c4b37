import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { SandboxerError } from "@sandboxer/contract";
import { Connection } from "../_kit/boxd/connection.ts";
import { dial } from "../_kit/boxd/dial.ts";
import { BOXD_FIX, hasBoxd } from "../_kit/boxd/path.ts";
import type { PassLocalFailPoint } from "./failpoint.ts";
import { createKept, type Kept } from "./kept.ts";
import { createSpare } from "./spare.ts";

/** How long hold stays without a sandbox and without a client. */
const IDLE_EXIT_MS = 10_000;

/** boxd's exit code for "another hold has this folder". */
const EXIT_ALREADY_HELD = 3;

type ExplainClose = () => Promise<SandboxerError>;

export interface Hold extends Kept {
  /** The new sandbox's own connection; hold is started first where none runs. */
  create(
    members: Record<string, unknown>,
    explainClose: ExplainClose,
    op?: "create" | "start",
  ): Promise<Connection>;
  socketOf(boxId: string): string;
  /** Whether one runs; none is started. */
  isThere(): Promise<boolean>;
}

export function createHold(dir: string, boxdPath: string, pass: PassLocalFailPoint = () => {}): Hold {
  const path = join(dir, "hold.sock");
  let starting: Promise<void> | undefined;

  const spare = createSpare(() => dial(path).catch(() => undefined));

  const connect = async (explainClose: ExplainClose = holdLeft): Promise<Connection> => {
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
  const kept = createKept(connect);

  const create: Hold["create"] = async (members, explainClose, op = "create") => {
    const socket = spare.take();
    const connection = socket ? new Connection(socket, explainClose) : await connect(explainClose);
    pass("local.connected");
    // The answer to a create is the new sandbox's HELLO on this very connection, or a FAIL.
    const opening = await connection.open(op, members);
    pass("local.asked");
    try {
      await Promise.race([connection.hello, opening.reply]);
      return connection;
    } catch (error) {
      const wasCut = connection.isOver;
      connection.close();
      // hold left while the spare lay ready. Whatever it has heard, one id makes one sandbox.
      if (socket && wasCut) return create(members, explainClose, op);
      throw error;
    } finally {
      spare.prepareLater();
    }
  };

  return {
    ...kept,
    create,
    async isThere() {
      const socket = await dial(path).catch(() => undefined);
      socket?.destroy();
      return socket !== undefined;
    },
    socketOf: (boxId) => join(dir, "boxes", boxId, "box.sock"),
    close() {
      spare.close();
      kept.close();
    },
  };
}

async function holdLeft(): Promise<SandboxerError> {
  return new SandboxerError("extension_failed", "boxd hold closed the connection");
}

/** boxd puts itself into the background and returns when its socket accepts connections. */
async function start(dir: string, boxdPath: string): Promise<void> {
  if (!hasBoxd(boxdPath)) {
    throw new SandboxerError("extension_unavailable", "boxd has not been built", { hint: BOXD_FIX });
  }
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const { spawn } = await import("node:child_process");
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
