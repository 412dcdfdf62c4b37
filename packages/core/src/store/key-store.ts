import type { Key, Principal } from "@sandboxer/contract";
import type { Claim } from "./idempotency-store.ts";

/** Keys and who holds them. Part of the store; every method is one commit. */
export interface KeyStore {
  /** `unauthenticated` when the parent was revoked meanwhile. */
  insertKey(key: NewKey, claim?: Claim & { readonly answer: string }): Promise<Key>;
  /** By the hash of the key; also one that no longer counts. */
  findKey(hash: string): Promise<FoundKey | undefined>;
  findKeyById(keyId: string): Promise<FoundKey | undefined>;
  /** By its first key; also one that no longer counts. */
  findPrincipal(principalId: string): Promise<Principal | undefined>;
  /**
   * Makes this the hash of the installation's root key, whatever it was before. A hash that
   * belongs to another key changes nothing.
   */
  enrolRootKey(enrol: EnrolRootKey): Promise<void>;
  /** The key and everything derived from it, oldest first. */
  listKeys(orgId: string, keyId: string): Promise<Key[]>;
  /** Ends the key and everything derived from it; answers what this call ended. */
  revokeKey(revoke: RevokeKey): Promise<string[]>;
  /** The holder has shown who it is; that holds until then. */
  proveIdentity(proof: ProveIdentity): Promise<void>;
  /** Which of these no longer count, for themselves or for a key above them. */
  listEndedKeys(keyIds: readonly string[], nowMs: number): Promise<string[]>;
}

export interface NewKey extends Omit<Key, "revokedAtMs"> {
  readonly hash: string;
  /** Who made it. */
  readonly byPrincipalId?: string;
}

export interface ProveIdentity {
  readonly orgId: string;
  readonly keyId: string;
  readonly principalId: string;
  readonly untilMs: number;
  readonly atMs: number;
}

export interface FoundKey {
  readonly principal: Principal;
  readonly parentId?: string;
  /** It, or a key above it, was revoked. */
  readonly revoked: boolean;
}

export interface EnrolRootKey {
  readonly hash: string;
  /** Used when there is none yet. */
  readonly keyId: string;
  readonly orgId: string;
  readonly principalId: string;
  readonly atMs: number;
}

export interface RevokeKey {
  readonly orgId: string;
  readonly keyId: string;
  readonly atMs: number;
  readonly principalId?: string;
  readonly reason?: string;
}
