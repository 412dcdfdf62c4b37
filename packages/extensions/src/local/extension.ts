import { hostname } from "node:os";
import { join } from "node:path";
import { type Applied, type Box, type Extension, SandboxerError } from "@sandboxer/contract";
import { Connection, dial, openBox, openChanges, openSnapshots } from "../_kit/boxd/index.ts";
import { findBoxd } from "../_kit/boxd/path.ts";
import { createMirrors } from "../_kit/mirror/mirrors.ts";
import { sensitivePlaces } from "../_kit/sensitive.ts";
import { explain, whyNobodyAnswers } from "./close.ts";
import { createThrough } from "./create.ts";
import type { PassLocalFailPoint } from "./failpoint.ts";
import { heldBoxes, heldLowers } from "./held.ts";
import { createHold, type Hold } from "./hold.ts";
import { openAside } from "./images/aside.ts";
import type { ImageOptions } from "./images/ground.ts";
import { openImages } from "./images/images.ts";
import { type ImageStore, openImageStore } from "./images/store.ts";
import { createLanding } from "./landing.ts";
import { manifest } from "./manifest.ts";
import { metricsThrough } from "./metrics.ts";
import { pauseThrough } from "./pause.ts";
import { createPool, type Pool } from "./pool.ts";
import { probeHost } from "./probe.ts";
import { type Open, stopThrough } from "./stop.ts";
import { storedIn } from "./stored.ts";

export interface LocalOptions {
  /** Where this installation's sandboxes live. */
  readonly dir: string;
  readonly boxdPath?: string;
  /** How many sandboxes of each kind that is asked for are kept ready; none, unless said. */
  readonly pool?: number;
  /** Where this installation keeps everything; no sandbox is ever shown it. */
  readonly home?: string;
  /** Where images may come from, and how large they may be. */
  readonly images?: ImageOptions;
  /** Told of every step of a create, for tests that end the gateway there. */
  readonly failpoint?: PassLocalFailPoint;
}

/** Sandboxes on this machine, without docker, root or an account: boxd and the kernel. */
export function createLocalExtension(options: LocalOptions): Extension {
  const { dir, boxdPath = findBoxd(), pool: poolSize = 0, failpoint: pass = () => {} } = options;
  const hold = createHold(dir, boxdPath, pass);
  const ownFolders = options.home === undefined ? [dir] : [dir, options.home];
  const { store, images } = openImageRoom(options, hold, boxdPath, pass, ownFolders);
  const hostId = hostname();
  const landing = createLanding(dir, boxdPath);
  const mirrors = createMirrors(dir, boxdPath, ownFolders);

  const explainClose = (ref: string) => explain(ref, () => heldBoxes(hold, hostId, ref));

  const pool = createPool(hold, poolSize, explainClose);
  const archives = new Set<string>();
  const workshop = { hold, images, pool, archives, pass, boxdPath, dir, ownFolders, explainClose };

  const open: Open = async (connection, ref, bestEffort, workspaceTarget, below = 0) => {
    const box = await openBox(connection, { ref, hostId, bestEffort });
    return {
      ...box,
      ...(await mirrors.open(ref, connection)),
      workspace: openChanges(connection, (layer, options) => landing.land(ref, layer, options)),
      snapshots: openSnapshots(connection, workspaceTarget, below),
    };
  };

  const attach = async (ref: string): Promise<Box> => {
    const [found] = await heldBoxes(hold, hostId, ref);
    if (found?.stopped) throw new SandboxerError("invalid_state", `the sandbox ${ref} is stopped`);
    if (found?.paused) throw new SandboxerError("invalid_state", `the sandbox ${ref} is paused`);
    const socket = found && (await dial(hold.socketOf(ref)));
    if (!socket) throw whyNobodyAnswers(await explainClose(ref));
    const connection = new Connection(socket, () => explainClose(ref));
    return open(connection, ref, found.bestEffort, found.workspaceTarget, found.below);
  };

  return {
    manifest,
    probe: () => probeHost(boxdPath, hold.isThere),

    async create(spec, context) {
      const { sandboxId } = context;
      try {
        const copied = await mirrors.pin(spec, context.layers);
        const { connection, bestEffort, isSetUp, restored } = await createThrough(workshop, spec, context);
        pass("local.answered");
        if (copied) await mirrors.begin(sandboxId, copied, connection);
        else mirrors.hasNone(sandboxId);
        const below = (context.layers?.length ?? 0) + Number(isSetUp);
        const box = await open(connection, sandboxId, bestEffort, spec.workspace?.target, below);
        return { ...box, isSetUp, snapshots: { ...box.snapshots, ...(restored && { restored }) } };
      } catch (error) {
        // Asked twice with the same id there is still one sandbox, and it is this one.
        if (SandboxerError.is(error) && error.code === "conflict") return attach(sandboxId);
        throw error;
      }
    },

    attach,
    async list() {
      const [untold] = await Promise.all([landing.recover(), store.sweep()]);
      const boxes = await mirrors.keepOf(() => heldBoxes(hold, hostId));
      return boxes.map((box) => ({ ...box, ...withApplied(untold.get(box.ref)) }));
    },
    async destroy(ref) {
      hold.untether(ref);
      await hold.call("destroy", { id: ref, graceMs: 0 });
      await mirrors.forget(ref);
    },

    extend: async (ref, ttlMs) => void (await hold.call("extend", { id: ref, ttlMs })),
    pause: pauseThrough(hold),
    stop: stopThrough(workshop, open, attach),
    metrics: metricsThrough(hold),
    images: { ...store, ...withoutPool(store, pool) },
    network: { door: (ref) => ({ socketPath: hold.socketOf(ref) }) },
    stored: () => storedIn(dir, hold, store),
    close: () => closeAll(store, pool, hold),
  };
}

const withApplied = (applied?: readonly Applied[]) => applied && { applied };

function openImageRoom(
  { dir, images = {} }: LocalOptions,
  hold: Hold,
  boxdPath: string,
  pass: PassLocalFailPoint,
  ownFolders: readonly string[],
) {
  const sensitive = sensitivePlaces(ownFolders);
  const place = { dir: join(dir, "images/oci"), ...heldLowers(hold) };
  const aside = openAside(join(place.dir, "drafts"), boxdPath, pass);
  const store = openImageStore({ ...place, images, boxdPath, aside, pass }, sensitive);
  return { store, images: openImages(join(dir, "images"), store, sensitive, aside) };
}

/** What is made ahead is nobody's, and keeps nobody from removing an image. */
function withoutPool(store: ImageStore, pool: Pool): Pick<ImageStore, "remove" | "prune"> {
  return {
    remove: async (ref) => {
      await pool.giveUp();
      return store.remove(ref);
    },
    prune: async () => {
      await pool.giveUp();
      return store.prune();
    },
  };
}

async function closeAll(store: ImageStore, pool: Pool, hold: Hold): Promise<void> {
  store.close();
  await pool.close();
  hold.close();
}
