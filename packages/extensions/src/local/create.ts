import { type CreateContext, SandboxerError, type SandboxSpec } from "@sandboxer/contract";
import type { Connection } from "../_kit/boxd/index.ts";
import type { PassLocalFailPoint } from "./failpoint.ts";
import type { Hold } from "./hold.ts";
import type { Images } from "./images/images.ts";
import { describeLacking, lackingFor, limitsFor } from "./limits.ts";
import type { Pool } from "./pool.ts";
import type { Root } from "./root.ts";
import { workspaceFor } from "./workspace.ts";

export interface Workshop {
  readonly hold: Hold;
  readonly images: Images;
  readonly pool: Pool;
  readonly pass: PassLocalFailPoint;
  /** Folders of our own, which no sandbox is shown. */
  readonly ownFolders: readonly string[];
  explainClose(ref: string): Promise<SandboxerError>;
}

/** The connection to a sandbox that hold has just made, or to one that was made ahead. */
export async function createThrough(
  { hold, images, pool, pass, ownFolders, explainClose }: Workshop,
  spec: SandboxSpec,
  context: CreateContext,
): Promise<{ connection: Connection; isSetUp: boolean; bestEffort: string[] }> {
  const { sandboxId, installationId, tethered = false } = context;
  const { root: image, env, isSetUp } = await images.madeOf(spec.image, context);
  const { workspace } = spec;
  const root: Root = workspace ? { ...image, workspace: workspaceFor(workspace, ownFolders) } : image;
  pass("local.image");
  if (tethered) await hold.tether(sandboxId);
  // Beside the create, which is not held up by it.
  const lacking = hold.lacking();
  lacking.catch(() => {});
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
  };
  try {
    // A folder is pinned when it is mounted: too early for an owner who is not there yet.
    const claimed = workspace ? undefined : await pool.claim(members);
    const connection = claimed ?? (await hold.create(members, () => explainClose(sandboxId)));
    return { connection, isSetUp, bestEffort: describeLacking(lackingFor(spec, await lacking)) };
  } catch (error) {
    throw workspace || isChosen(image) ? aboutFolder(error) : error;
  } finally {
    if (!workspace) pool.replenishLater(members, spec.pool);
  }
}

/** Whether it has folders of somebody's choice in it. */
function isChosen({ judgesLowers, mounts }: Root): boolean {
  return judgesLowers === true || mounts.some(({ judged }) => judged);
}

function aboutFolder(error: unknown): unknown {
  if (!SandboxerError.is(error) || error.code !== "permission_denied") return error;
  return new SandboxerError("policy_denied", error.message, {
    details: { rule: "workspace" },
    hint: "Choose a narrower folder. For a workspace, `allowSensitive` (--allow-sensitive) goes past this, and is recorded.",
    cause: error,
  });
}
