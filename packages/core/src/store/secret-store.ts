import type { Secret } from "@sandboxer/contract";
import type { Shape } from "../secrets/shape.ts";

/** Secrets and who may use them. Part of the store; every method is one commit. */
export interface SecretStore {
  /** Makes it, or changes all of it but its owner and its shape. `conflict` when the name is another's. */
  setSecret(secret: NewSecret): Promise<KeptSecret>;
  /** The next value. `undefined` when there is no such secret. */
  rotateSecret(rotate: RotateSecret): Promise<KeptSecret | undefined>;
  getSecret(orgId: string, name: string): Promise<KeptSecret | undefined>;
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
  readonly orgId: string;
  readonly name: string;
  readonly principalId: string;
  readonly atMs: number;
}

export interface NewSecret extends SecretAct {
  readonly id: string;
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
