import type { Org } from "@sandboxer/contract";
import type { Claim } from "./idempotency-store.ts";
import type { NewKey } from "./key-store.ts";

/** Tenants. Part of the store; every method is one commit. */
export interface OrgStore {
  /** The org of the installation's own root key; absent where that was never enrolled. */
  rootOrgId(): Promise<string | undefined>;
  /** With its first key, which is the root of all its others. `conflict` when the name is taken. */
  insertOrg(insert: InsertOrg, claim?: Claim & { readonly answer: string }): Promise<void>;
  /** Those that were made by name, oldest first. */
  listOrgs(): Promise<Org[]>;
}

export interface InsertOrg {
  readonly org: Org;
  readonly key: NewKey;
  readonly principalId: string;
  /** What it may spend; left out, no limit. */
  readonly limitMicroUsd?: number | undefined;
}
