import type { ListedBox } from "@sandboxer/contract";
import type { Hold } from "./hold.ts";
import { describeLacking } from "./limits.ts";

/** A sandbox as hold knows it. */
export interface HeldBox extends ListedBox {
  readonly paused: boolean;
  readonly stopped: boolean;
  readonly bestEffort: readonly string[];
  readonly workspaceTarget?: string;
  /** Layers of others that it lies on. */
  readonly below: number;
}

/** Every sandbox that hold has and somebody owns, or only the one with this id. */
export async function heldBoxes(hold: Hold, hostId: string, id?: string): Promise<HeldBox[]> {
  const { boxes } = await hold.call("list", { id });
  const owned = (boxes as Record<string, unknown>[]).filter((box) => box.pooled !== true);
  return owned.map((box) => ({
    ref: String(box.id),
    sandboxId: String(box.id),
    hostId,
    installationId: String(box.installation),
    createdAtMs: Number(box.createdAtMs),
    ...(typeof box.expiresAtMs === "number" && { expiresAtMs: box.expiresAtMs }),
    paused: box.paused === true,
    stopped: box.stopped === true,
    bestEffort: describeLacking(box.notInForce),
    below: (Array.isArray(box.layers) ? box.layers.length : 0) + Number(box.setupLayers ?? 0),
    ...(isMembers(box.workspace) && { workspaceTarget: String(box.workspace.target) }),
  }));
}

/** The folders that sandboxes lie on, those made ahead included. */
export function heldLowers(hold: Hold) {
  const ask = async (id?: string): Promise<string[][]> => {
    const { boxes } = await hold.call("list", { id });
    return (boxes as { lowers?: string[] }[]).map(({ lowers = [] }) => lowers);
  };
  return { lowersInUse: () => ask(), lowersOf: async (ref: string) => (await ask(ref))[0] ?? [] };
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
