import type { GuardedNetwork, NetworkCall } from "@sandboxer/contract";
import { compile, type Policy } from "../policy/compile.ts";

/** What is written down of a call; its number is given where it is kept. */
export type Noted = Omit<NetworkCall, "seq">;

/** A connection that was let through, for as long as it lasts. */
export interface Tunnel {
  readonly sandbox: string;
  /** Under which it was noted. */
  readonly key: number;
  readonly call: Noted;
  /** By the rules of now. */
  stillAllowed(): boolean;
}

/** A sandbox under guard. */
export interface Ward {
  readonly sandbox: string;
  policy: Policy;
  readonly tunnels: Map<number, Tunnel>;
}

export function createWard(sandbox: string, network: GuardedNetwork): Ward {
  return { sandbox, policy: compile(network), tunnels: new Map() };
}
