import { type CreateContext, DEFAULT_KEEP_MS, SandboxerError, type SandboxSpec } from "@sandboxer/contract";
import type { Connection } from "../_kit/boxd/index.ts";
import type { PassLocalFailPoint } from "./failpoint.ts";
import type { Hold } from "./hold.ts";
import type { Images } from "./image.ts";
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
  workshop: Workshop,
  spec: SandboxSpec,
  context: CreateContext,
): Promise<{ connection: Connection; bestEffort: string[] }> {
  const { hold, pool, pass, explainClose } = workshop;
  const members = await membersOf(workshop, spec, context);
  pass("local.image");
  if (context.tethered) await hold.tether(context.sandboxId);
  // Beside the create, which is not held up by it.
  const lacking = hold.lacking();
  lacking.catch(() => {});
  // A folder is pinned when it is mounted: too early for an owner who is not there yet.
  const isPooled = !spec.workspace && !members.keeps && !members.layers;
  try {
    const claimed = isPooled ? await pool.claim(members) : undefined;
    const connection = claimed ?? (await hold.create(members, () => explainClose(context.sandboxId)));
    return { connection, bestEffort: describeLacking(lackingFor(spec, await lacking)) };
  } catch (error) {
    throw spec.workspace ? aboutWorkspace(error) : error;
  } finally {
    if (isPooled) pool.replenishLater(members, spec.pool);
  }
}

/** What hold is asked with. */
export async function membersOf(
  { images, ownFolders }: Workshop,
  spec: SandboxSpec,
  { sandboxId, installationId, tethered = false, layers }: CreateContext,
) {
  const image = await images.rootOf(spec.image);
  const { workspace, persistence, keepMs = DEFAULT_KEEP_MS, atEnd } = spec;
  const root: Root = workspace ? { ...image, workspace: workspaceFor(workspace, ownFolders) } : image;
  return {
    id: sandboxId,
    installation: installationId,
    root,
    hostname: "sandbox",
    env: spec.env,
    ttlMs: spec.ttlMs,
    labels: spec.labels,
    limits: limitsFor(spec),
    deniesRoot: spec.root === "denied",
    guarded: spec.network.egress === "guarded",
    tethered,
    ...(layers && { layers }),
    ...(persistence !== "ephemeral" && { keeps: { keepMs, stopsAtEnd: atEnd !== "destroy" } }),
  };
}

export function aboutWorkspace(error: unknown): unknown {
  if (!SandboxerError.is(error) || error.code !== "permission_denied") return error;
  return new SandboxerError("policy_denied", error.message, {
    details: { rule: "workspace" },
    hint: "Choose a narrower folder. `allowSensitive` (--allow-sensitive) goes past this, and is recorded.",
    cause: error,
  });
}
