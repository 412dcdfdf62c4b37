import type { Secret } from "@sandboxer/contract";
import type { Shape } from "../secrets/shape.ts";

/** Secrets and who may use them. Part of the store; every method is one commit. */
export interface SecretStore {
  /** Makes it, or changes all of its owner's but the shape. Another's of the same name is another. */
  setSecret(secret: NewSecret): Promise<KeptSecret>;
  /** The next value. `undefined` when there is no such secret. */
  rotateSecret(rotate: RotateSecret): Promise<KeptSecret | undefined>;
  /**
   * Which one a principal means by a name: its own, else one granted to it, else one of who is below
   * it; the oldest of several. One that is none of these is given too, for the house to judge.
   */
  getSecret(orgId: string, name: string, principalId: string): Promise<KeptSecret | undefined>;
  /** By name. */
  listSecrets(orgId: string): Promise<KeptSecret[]>;
  deleteSecret(remove: SecretAct): Promise<boolean>;
  /** Given again, it stays as it was. */
  grantSecret(grant: GrantSecret): Promise<void>;
  /** Takes it from the key and from everything derived from it; answers from whom. */
  revokeSecret(revoke: SecretAct & { readonly toPrincipalId: string }): Promise<string[]>;
}

/** Where a value is; what we keep of it ourselves is sealed. */
export type Source =
  | { readonly kind: "vault"; readonly sealed: string }
  | { readonly kind: "env"; readonly variable: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "command"; readonly argv: readonly string[] };

/** As the house sees it. */
export interface KeptSecret extends Secret {
  readonly source: Source;
  readonly shape: Shape;
  /** The owner and everybody above it. */
  readonly lineage: readonly string[];
  /** The same of each who was given it. */
  readonly grantLineages: readonly (readonly string[])[];
}

export interface SecretAct {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly principalId: string;
  readonly atMs: number;
}

export interface NewSecret extends SecretAct {
  readonly lineage: readonly string[];
  readonly source: Source;
  readonly shape: Shape;
  readonly bindings: Secret["bindings"];
  readonly variable: string;
}

export interface RotateSecret extends SecretAct {
  readonly source: Source;
}

export interface GrantSecret extends SecretAct {
  readonly keyId: string;
  readonly toPrincipalId: string;
  readonly toLineage: readonly string[];
}
