import { setTimeout } from "node:timers/promises";
import { type Box, SandboxerError, type SandboxSpec, type StopFacet } from "@sandboxer/contract";
import { aboutFolder } from "../_kit/about-folder.ts";
import type { Connection } from "../_kit/boxd/index.ts";
import { membersOf, type Workshop } from "./create.ts";
import { heldBoxes } from "./held.ts";
import { describeLacking, lackingFor } from "./limits.ts";
import { settle } from "./settle.ts";

const AGAIN_AFTER_MS = 20;
const PATIENCE_MS = 15_000;
/** hold ends what is read when we are gone; this is for a hold that is gone as well. */
const READ_AT_MOST_MS = 3_600_000;

export type Open = (
  connection: Connection,
  ref: string,
  bestEffort: readonly string[],
  target?: string,
  below?: number,
) => Promise<Box & Required<Pick<Box, "snapshots">>>;

/** What is stopped is a folder of hold's, and hold starts it again. */
export function stopThrough(
  workshop: Workshop,
  open: Open,
  attach: (ref: string) => Promise<Box>,
): StopFacet {
  const { hold, explainClose } = workshop;

  const start = async (members: Record<string, unknown>, id: string): Promise<Connection> => {
    try {
      return await onceFree(() => hold.create(members, () => explainClose(id), "start"));
    } catch (error) {
      throw members.workspace ? aboutFolder(error) : error;
    }
  };

  const openAs = async (connection: Connection, ref: string, spec: SandboxSpec): Promise<Box> => {
    const bestEffort = describeLacking(lackingFor(spec, await hold.lacking()));
    const [held] = await heldBoxes(hold, "", ref);
    return open(connection, ref, bestEffort, spec.workspace?.target, held?.below);
  };

  return {
    async stop(ref, _, keepMs) {
      hold.untether(ref);
      const [held] = await heldBoxes(hold, "", ref);
      const release = held && !held.paused ? await settle(hold.socketOf(ref)) : undefined;
      try {
        await hold.call("stop", { id: ref, graceMs: 0, ...(keepMs !== undefined && { keepMs }) });
      } finally {
        release?.();
      }
    },
    async start(spec, context) {
      const { members } = await membersOf(workshop, spec, context);
      try {
        return await openAs(await start(members, context.sandboxId), context.sandboxId, spec);
      } catch (error) {
        if (SandboxerError.is(error) && error.code === "conflict") return attach(context.sandboxId);
        throw error;
      }
    },
    async freeze(ref) {
      try {
        return (await onceFree(() => hold.callApart("freeze", { id: ref }))).layers as string[];
      } catch (error) {
        if (SandboxerError.is(error) && error.code === "unsupported") return undefined;
        throw SandboxerError.is(error) && error.code === "storage_full" ? noRoom(error) : error;
      }
    },
    async read(spec, context) {
      const { sandboxId: id } = context;
      const { members } = await membersOf(workshop, spec, { ...context, tethered: true });
      await hold.tether(id);
      const asked = { ...members, reader: true, guarded: false, ttlMs: READ_AT_MOST_MS };
      const box = await openAs(await start(asked, id), id, spec);
      return {
        ...box,
        close() {
          box.close();
          hold.untether(id);
          void hold.call("stop", { id, graceMs: 0 }).catch(() => {});
        },
      };
    },
  };
}

/** The kernel lets go of a disk a moment after its sandbox, or after who read it; then it can be had again. */
async function onceFree<T>(ask: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const isBusy = SandboxerError.is(error) && error.code === "invalid_state";
      if (!isBusy || Date.now() > deadline) throw error;
      await setTimeout(AGAIN_AFTER_MS);
    }
  }
}

function noRoom(error: SandboxerError): SandboxerError {
  return new SandboxerError("storage_full", error.message, {
    hint: "Free some space on the disk of the gateway's home, or stop the sandbox: a fork of it is then no copy.",
    cause: error,
  });
}
