import type { PublishedProfile } from "@sandboxer/contract";
import type { Claim } from "./idempotency-store.ts";
import type { Viewer } from "./viewer.ts";

/** Profiles that an org published. Part of the store; every method is one commit. */
export interface ProfileStore {
  /** Oldest first, as far as the viewer sees them. */
  listProfiles(orgId: string, viewer?: Viewer): Promise<PublishedProfile[]>;
  /** How long the last sandboxes of a profile took from the request until they ran. */
  coldStarts(orgId: string, digest: string, atMost: number): Promise<number[]>;
  /** `conflict` when somebody published that version meanwhile. */
  publishProfile(publish: PublishProfile, claim?: Claim | undefined): Promise<PublishedProfile>;
  /** The only change a version ever sees; asked again, it stays as it is. */
  deprecateProfile(deprecate: DeprecateProfile): Promise<PublishedProfile | undefined>;
}

export interface PublishProfile {
  readonly orgId: string;
  readonly principalId: string;
  readonly published: PublishedProfile;
  /** Who sees it whatever its visibility. */
  readonly lineage: readonly string[];
  readonly team?: string | undefined;
}

export interface DeprecateProfile {
  readonly orgId: string;
  readonly principalId: string;
  readonly name: string;
  readonly version: number;
  readonly atMs: number;
}
