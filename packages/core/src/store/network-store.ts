import type { GuardedNetwork, Sandbox } from "@sandboxer/contract";

/** Part of the store; every method is one commit. */
export interface NetworkStore {
  /** Of a living sandbox with a way out. `undefined` for any other. */
  changeNetwork(change: ChangeNetwork): Promise<Sandbox | undefined>;
}

export interface ChangeNetwork {
  readonly sandboxId: string;
  readonly network: GuardedNetwork;
  readonly atMs: number;
  readonly principalId: string;
}
