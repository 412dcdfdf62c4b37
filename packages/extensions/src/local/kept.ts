import { SandboxerError } from "@sandboxer/contract";
import type { Connection } from "../_kit/boxd/connection.ts";

/** A hold that cannot stay up is not started over and over without a pause. */
const REVIVE_AFTER_MS = 500;

/** While hold dies its socket still takes connections, which die with it: the second is not the last. */
const MOST_TRIES = 4;

type Members = Readonly<Record<string, unknown>>;

/** The one connection to hold on which everything is asked that is not a create and is soon answered. */
export interface Kept {
  /** Asked again where hold died over it: whatever it has heard, asking twice is asking once. */
  call(op: string, members?: Members): Promise<Members>;
  /** The same on a connection of its own: answers come in order, and nobody waits behind this one. */
  callApart(op: string, members?: Members): Promise<Members>;
  /** What this machine cannot hold a sandbox to, each with its reason. Asked once of each hold. */
  lacking(): Promise<Readonly<Record<string, string>>>;
  /** The sandbox of this id, made or to be made, ends when this process does. */
  tether(boxId: string): Promise<void>;
  /** It has another name now, or is over: the tether to this one need not be taken again. */
  untether(boxId: string): void;
  close(): void;
}

export function createKept(connect: () => Promise<Connection>): Kept {
  let kept: Promise<Connection> | undefined;
  let lacking: Promise<Record<string, string>> | undefined;
  let closed = false;
  const tethers = new Set<string>();
  const apart = new Set<Connection>();

  const keep = (): Promise<Connection> => {
    // A sandbox whose end is still being looked into must not bring hold back.
    if (closed) return Promise.reject(new SandboxerError("extension_failed", "the engine is closed here"));
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

  const insist = async (op: string, members: Members, over: () => Promise<Connection>): Promise<Members> => {
    for (let tries = 1; ; tries += 1) {
      const connection = await over();
      try {
        return await connection.call(op, members);
      } catch (error) {
        if (!connection.isOver || closed || tries === MOST_TRIES) throw error;
        await connection.closed;
      } finally {
        if (apart.delete(connection)) connection.close();
      }
    }
  };

  return {
    call: (op, members = {}) => insist(op, members, keep),
    async callApart(op, members = {}) {
      return insist(op, members, async () => {
        await keep();
        const connection = await connect();
        apart.add(connection);
        return connection;
      });
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
    async tether(boxId) {
      tethers.add(boxId);
      await (await keep()).call("tether", { id: boxId });
    },
    untether: (boxId) => void tethers.delete(boxId),
    close() {
      closed = true;
      for (const connection of apart) connection.close();
      kept?.then(
        (connection) => connection.close(),
        () => {},
      );
    },
  };
}
