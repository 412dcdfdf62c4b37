import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { SandboxerError } from "@sandboxer/contract";
import { Connection } from "../_kit/boxd/connection.ts";
import { dial } from "../_kit/boxd/dial.ts";
import { BOXD_FIX, hasBoxd } from "../_kit/boxd/path.ts";
import type { PassLocalFailPoint } from "./failpoint.ts";
import { createSpare } from "./spare.ts";

/** How long hold stays without a sandbox and without a client. */
const IDLE_EXIT_MS = 10_000;

/** boxd's exit code for "another hold has this folder". */
const EXIT_ALREADY_HELD = 3;

/** A hold that cannot stay up is not started over and over without a pause. */
const REVIVE_AFTER_MS = 500;

type ExplainClose = () => Promise<SandboxerError>;

export interface Hold {
  /** The new sandbox's own connection; hold is started first where none runs. */
  create(members: Record<string, unknown>, explainClose: ExplainClose): Promise<Connection>;
  /** One question on the connection kept for that; asked again where hold died over it. */
  call(op: string, members?: Record<string, unknown>): Promise<Readonly<Record<string, unknown>>>;
  /** What this machine cannot hold a sandbox to, each with its reason. Asked once of each hold. */
  lacking(): Promise<Readonly<Record<string, string>>>;
  /** The sandbox of this id, made or to be made, ends when this process does. */
  tether(boxId: string): Promise<void>;
  socketOf(boxId: string): string;
  close(): void;
}

export function createHold(dir: string, boxdPath: string, pass: PassLocalFailPoint = () => {}): Hold {
  const path = join(dir, "hold.sock");
  let kept: Promise<Connection> | undefined;
  let lacking: Promise<Record<string, string>> | undefined;
  let starting: Promise<void> | undefined;
  let closed = false;
  const tethers = new Set<string>();

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

  const keep = (): Promise<Connection> => {
    kept ??= connect().then(
      async (connection) => {
        void connection.closed.then(revive);
        for (const id of tethers) await connection.call("tether", { id });
        return connection;
      },
      (error) => {
        kept = undefined;
        throw error;
      },
    );
    return kept;
  };

  /** While we are its client hold does not leave, so it died: its sandboxes need the next one. */
  const revive = (): void => {
    kept = undefined;
    lacking = undefined;
    if (!closed) setTimeout(() => closed || keep().catch(() => {}), REVIVE_AFTER_MS).unref();
  };

  const create: Hold["create"] = async (members, explainClose) => {
    const socket = spare.take();
    const connection = socket ? new Connection(socket, explainClose) : await connect(explainClose);
    pass("local.connected");
    // The answer to a create is the new sandbox's HELLO on this very connection, or a FAIL.
    const opening = await connection.open("create", members);
    pass("local.asked");
    try {
      await Promise.race([connection.hello, opening.reply]);
      return connection;
    } catch (error) {
      const wasCut = connection.isOver;
      connection.close();
      // hold left while the spare lay ready. Whatever it has heard, one id makes one sandbox.
      if (socket && wasCut) return create(members, explainClose);
      throw error;
    } finally {
      spare.prepareLater();
    }
  };

  return {
    create,
    async call(op, members = {}) {
      const connection = await keep();
      try {
        return await connection.call(op, members);
      } catch (error) {
        if (!connection.isOver) throw error;
        await connection.closed;
        return (await keep()).call(op, members);
      }
    },
    async tether(boxId) {
      tethers.add(boxId);
      await (await keep()).call("tether", { id: boxId });
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
      closed = true;
      spare.close();
      kept?.then(
        (connection) => connection.close(),
        () => {},
      );
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
