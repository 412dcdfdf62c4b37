import {
  emptySchema,
  type RotateSecretBody,
  type Secret,
  type SetSecretBody,
  secretListSchema,
  secretSchema,
} from "@sandboxer/contract";
import type { Transport } from "./transport.ts";

/** Sandboxes have placeholders; the guard puts the secrets in where they are bound to. None is ever shown. */
export interface Secrets {
  /** Those that the client's key may use. */
  list(): Promise<readonly Secret[]>;
  set(name: string, body: SetSecretBody): Promise<Secret>;
  /** Another value from now on; left out, one that is kept elsewhere is read again. */
  rotate(name: string, body?: RotateSecretBody): Promise<Secret>;
  /** To the holder of a key derived from the client's. */
  grant(name: string, keyId: string): Promise<Secret>;
  revoke(name: string, keyId: string): Promise<Secret>;
  delete(name: string): Promise<void>;
}

export function openSecrets(transport: Transport): Secrets {
  const at = (name: string, rest = "") => `/v1/secrets/${encodeURIComponent(name)}${rest}`;
  return {
    async list() {
      return (await transport.ask(secretListSchema, "GET", "/v1/secrets")).secrets;
    },
    set: (name, json) => transport.ask(secretSchema, "PUT", at(name), { json }),
    rotate: (name, json = {}) => transport.ask(secretSchema, "POST", at(name, "/rotate"), { json }),
    grant: (name, keyId) => transport.ask(secretSchema, "POST", at(name, "/grants"), { json: { keyId } }),
    revoke: (name, keyId) =>
      transport.ask(secretSchema, "DELETE", at(name, `/grants/${encodeURIComponent(keyId)}`)),
    async delete(name) {
      await transport.ask(emptySchema, "DELETE", at(name));
    },
  };
}
