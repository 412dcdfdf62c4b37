import { type CreateContext, DEFAULT_KEEP_MS, SandboxerError, type SandboxSpec } from "@sandboxer/contract";
import { aboutFolder } from "../_kit/about-folder.ts";
import type { Connection } from "../_kit/boxd/index.ts";
import type { PassLocalFailPoint } from "./failpoint.ts";
import type { Hold } from "./hold.ts";
import { type Images, kindOf } from "./images/images.ts";
import { describeLacking, lackingFor, limitsFor } from "./limits.ts";
import type { Pool } from "./pool.ts";
import { NO_REPOSITORY, repositoryOf, seedRepository, TOO_MANY_NAMES, withObjects } from "./repository.ts";
import type { Root } from "./root.ts";
import { isMounted, workspaceFor } from "./workspace.ts";

export interface Workshop {
  readonly hold: Hold;
  readonly images: Images;
  readonly pool: Pool;
  /** Paths of a rootfs that was no folder when last looked at. */
  readonly archives: Set<string>;
  readonly pass: PassLocalFailPoint;
  readonly boxdPath: string;
  readonly dir: string;
  /** Folders of our own, which no sandbox is shown. */
  readonly ownFolders: readonly string[];
  explainClose(ref: string): Promise<SandboxerError>;
}

interface Created {
  readonly connection: Connection;
  readonly isSetUp: boolean;
  readonly bestEffort: string[];
  /** For when the layers of a snapshot are in it. */
  readonly restored?: () => Promise<void>;
}

/** The connection to a sandbox that hold has just made, or to one that was made ahead. */
export async function createThrough(
  workshop: Workshop,
  spec: SandboxSpec,
  context: CreateContext,
): Promise<Created> {
  const { image } = spec;
  const { archives } = workshop;
  if (image.kind !== "rootfs" || archives.has(image.path)) return createOnce(workshop, spec, context, false);
  try {
    return await createOnce(workshop, spec, context, true);
  } catch (error) {
    // hold has looked at it, as a folder.
    if ((await kindOf(image.path)) === "folder") throw error;
    archives.add(image.path);
    return createOnce(workshop, spec, context, false);
  }
}

async function createOnce(
  workshop: Workshop,
  spec: SandboxSpec,
  context: CreateContext,
  unseen: boolean,
): Promise<Created> {
  const { hold, pool, pass, explainClose } = workshop;
  const { members, isSetUp, repository } = await membersOf(workshop, spec, context, unseen);
  pass("local.image");
  if (context.tethered) await hold.tether(context.sandboxId);
  // Beside the create, which is not held up by it.
  const lacking = hold.lacking();
  lacking.catch(() => {});
  // A folder is pinned when it is mounted: too early for an owner who is not there yet.
  const isPooled = !spec.workspace && !spec.volumes?.length && !members.keeps && !members.layers;
  try {
    const claimed = isPooled ? await pool.claim(members) : undefined;
    const connection = claimed ?? (await hold.create(members, () => explainClose(context.sandboxId)));
    if (isPooled) pool.replenishLater(members, spec.pool);
    const bestEffort = describeLacking(lackingFor(spec, await lacking));
    if (repository === "none") bestEffort.push(NO_REPOSITORY);
    const created = { connection, isSetUp, bestEffort };
    if (!repository || repository === "none" || !spec.workspace) return created;
    const { target } = spec.workspace;
    const seed = async () => {
      const isWhole = await seedRepository(workshop, repository, connection, target).catch(orReplaced);
      if (!isWhole) bestEffort.push(TOO_MANY_NAMES);
    };
    if (spec.from !== undefined) return { ...created, restored: seed };
    await seed();
    return created;
  } catch (error) {
    throw spec.workspace || isChosen(members.root) ? aboutFolder(error) : error;
  }
}

/** A folder that is another now is a `conflict`, by which a sandbox would pass for one made already. */
function orReplaced(error: unknown): never {
  if (!SandboxerError.is(error) || error.code !== "conflict") throw error;
  throw new SandboxerError("invalid_state", "the repository of the work tree was replaced meanwhile", {
    hint: "Make the sandbox again.",
    cause: error,
  });
}

/** What hold is asked with. */
export async function membersOf(
  workshop: Workshop,
  spec: SandboxSpec,
  context: CreateContext,
  unseen = false,
) {
  const { images, ownFolders } = workshop;
  const { sandboxId, installationId, tethered = false, layers } = context;
  const { root: image, env, isSetUp } = await images.madeOf(spec.image, context, unseen);
  const { workspace, persistence, keepMs = DEFAULT_KEEP_MS, atEnd } = spec;
  const shown = workspace && isMounted(workspace) && workspaceFor(workspace, ownFolders);
  const volumes = volumesOf(spec);
  const repository = await repositoryOf(workshop, spec);
  // The image's own where nothing is added: the pool knows it again by that.
  const plain: Root =
    shown || volumes.length > 0
      ? { ...image, mounts: [...image.mounts, ...volumes], ...(shown && { workspace: shown }) }
      : image;
  const root = repository && repository !== "none" ? withObjects(plain, repository, ownFolders) : plain;
  const members = {
    id: sandboxId,
    installation: installationId,
    root,
    hostname: "sandbox",
    env: { ...env, ...spec.env },
    ttlMs: spec.ttlMs,
    labels: spec.labels,
    limits: limitsFor(spec),
    deniesRoot: spec.root === "denied",
    guarded: spec.network.egress === "guarded",
    tethered,
    ...(layers && { layers }),
    ...(persistence !== "ephemeral" && { keeps: { keepMs, stopsAtEnd: atEnd !== "destroy" } }),
  };
  return { members, isSetUp, repository };
}

/** Folders of core's, which chose them itself. */
function volumesOf({ volumes = [] }: SandboxSpec): Root["mounts"] {
  return volumes.flatMap(({ source, target }) =>
    source === undefined ? [] : [{ source, target, readOnly: false, owned: true }],
  );
}

/** Whether it has folders of somebody's choice in it. */
function isChosen({ judgesLowers, mounts }: Root): boolean {
  return judgesLowers === true || mounts.some(({ judged }) => judged);
}
