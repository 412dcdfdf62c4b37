import { hostname } from "node:os";
import { join } from "node:path";
import { type Box, type Extension, SandboxerError } from "@sandboxer/contract";
import { Connection, dial, openBox, openChanges, openSnapshots } from "../_kit/boxd/index.ts";
import { findBoxd } from "../_kit/boxd/path.ts";
import { explain } from "./close.ts";
import { createThrough } from "./create.ts";
import type { PassLocalFailPoint } from "./failpoint.ts";
import { heldBoxes } from "./held.ts";
import { createHold } from "./hold.ts";
import { openImages } from "./image.ts";
import { createLanding } from "./landing.ts";
import { manifest } from "./manifest.ts";
import { metricsThrough } from "./metrics.ts";
import { pauseThrough } from "./pause.ts";
import { createPool } from "./pool.ts";
import { probeHost } from "./probe.ts";
import { stopThrough } from "./stop.ts";
import { storedIn } from "./stored.ts";

export interface LocalOptions {
  /** Where this installation's sandboxes live. */
  readonly dir: string;
  readonly boxdPath?: string;
  /** How many sandboxes of each kind that is asked for are kept ready; none, unless said. */
  readonly pool?: number;
  /** Where this installation keeps everything; no sandbox is ever shown it. */
  readonly home?: string;
  /** Told of every step of a create, for tests that end the gateway there. */
  readonly failpoint?: PassLocalFailPoint;
}

/** Sandboxes on this machine, without docker, root or an account: boxd and the kernel. */
export function createLocalExtension(options: LocalOptions): Extension {
  const { dir, boxdPath = findBoxd(), pool: poolSize = 0, failpoint: pass = () => {} } = options;
  const hold = createHold(dir, boxdPath, pass);
  const images = openImages(join(dir, "images"));
  const hostId = hostname();
  const landing = createLanding(dir, boxdPath);

  const explainClose = (ref: string) => explain(ref, () => heldBoxes(hold, hostId, ref));

  const pool = createPool(hold, poolSize, explainClose);
  const ownFolders = options.home === undefined ? [dir] : [dir, options.home];
  const workshop = { hold, images, pool, pass, ownFolders, explainClose };

  const open = async (
    connection: Connection,
    ref: string,
    bestEffort: readonly string[],
    workspaceTarget?: string,
    below = 0,
  ): Promise<Box> => {
    const box = await openBox(connection, { ref, hostId, bestEffort });
    return {
      ...box,
      workspace: openChanges(connection, (layer, options) => landing.land(ref, layer, options)),
      snapshots: openSnapshots(connection, workspaceTarget, below),
    };
  };

  const attach = async (ref: string): Promise<Box> => {
    const [found] = await heldBoxes(hold, hostId, ref);
    if (found?.stopped) throw new SandboxerError("invalid_state", `the sandbox ${ref} is stopped`);
    if (found?.paused) throw new SandboxerError("invalid_state", `the sandbox ${ref} is paused`);
    const socket = found && (await dial(hold.socketOf(ref)));
    if (!socket) throw new SandboxerError("not_found", `no sandbox ${ref} on this machine`);
    const connection = new Connection(socket, () => explainClose(ref));
    return open(connection, ref, found.bestEffort, found.workspaceTarget, found.below);
  };

  return {
    manifest,
    probe: () => probeHost(boxdPath),

    async create(spec, context) {
      const { sandboxId } = context;
      try {
        const { connection, bestEffort } = await createThrough(workshop, spec, context);
        pass("local.answered");
        return await open(connection, sandboxId, bestEffort, spec.workspace?.target, context.layers?.length);
      } catch (error) {
        // Asked twice with the same id there is still one sandbox, and it is this one.
        if (SandboxerError.is(error) && error.code === "conflict") return attach(sandboxId);
        throw error;
      }
    },

    attach,
    async list() {
      await landing.recover();
      return heldBoxes(hold, hostId);
    },

    async destroy(ref) {
      hold.untether(ref);
      await hold.call("destroy", { id: ref, graceMs: 0 });
    },

    async extend(ref, ttlMs) {
      await hold.call("extend", { id: ref, ttlMs });
    },

    pause: pauseThrough(hold),
    stop: stopThrough(workshop, open, attach),
    metrics: metricsThrough(hold),
    network: { door: (ref) => ({ socketPath: hold.socketOf(ref) }) },

    stored: () => storedIn(dir, hold),

    async close() {
      await pool.close();
      hold.close();
    },
  };
}
