import type { Volume } from "@sandboxer/contract";
import type { Claim } from "./idempotency-store.ts";
import type { Viewer } from "./viewer.ts";

/** Volumes, without what is in them. Part of the store; every method is one commit. */
export interface VolumeStore {
  /** `conflict` when its owner has one of that name, `AlreadyClaimed` when another request has the claim. */
  addVolume(
    volume: Volume & { readonly lineage: readonly string[] },
    claim?: Claim & { readonly answer: string },
  ): Promise<void>;
  /** By id or name, of those that the viewer sees; its own first. */
  getVolume(orgId: string, idOrName: string, viewer: Viewer): Promise<Volume | undefined>;
  /** By id, whoever asks. */
  getVolumeById(id: string): Promise<Volume | undefined>;
  listVolumes(orgId: string, viewer: Viewer): Promise<Volume[]>;
  /** From now on nobody finds it. `conflict` with their ids while living sandboxes work on it. */
  forsakeVolume(forsake: { id: string; orgId: string; principalId: string; atMs: number }): Promise<void>;
  /** Those that nobody finds and whose files may still be there. */
  forsakenVolumes(): Promise<string[]>;
  dropVolume(id: string): Promise<void>;
}
