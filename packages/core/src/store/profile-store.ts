import type { PublishedProfile } from "@sandboxer/contract";
import type { Claim } from "./idempotency-store.ts";

/** Profiles that an org published. Part of the store; every method is one commit. */
export interface ProfileStore {
  /** Oldest first. */
  listProfiles(orgId: string): Promise<PublishedProfile[]>;
  /** `conflict` when somebody published that version meanwhile. */
  publishProfile(publish: PublishProfile, claim?: Claim | undefined): Promise<PublishedProfile>;
  /** The only change a version ever sees; asked again, it stays as it is. */
  deprecateProfile(deprecate: DeprecateProfile): Promise<PublishedProfile | undefined>;
}

export interface PublishProfile {
  readonly orgId: string;
  readonly principalId: string;
  readonly published: PublishedProfile;
}

export interface DeprecateProfile {
  readonly orgId: string;
  readonly principalId: string;
  readonly name: string;
  readonly version: number;
  readonly atMs: number;
}
