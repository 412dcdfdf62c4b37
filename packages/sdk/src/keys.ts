import {
  type Budget,
  budgetSchema,
  type CreatedKey,
  type CreateKeyBody,
  createdKeySchema,
  identityChallengeSchema,
  type Key,
  keyListSchema,
  revokedKeysSchema,
  type Whoami,
  whoamiSchema,
} from "@sandboxer/contract";
import type { Once, Transport } from "./transport.ts";

export interface Keys {
  /** Never wider than the client's own key. The answer is the only time the key itself is shown. */
  create(body?: CreateKeyBody, once?: Once): Promise<CreatedKey>;
  /** The client's own key and everything derived from it. */
  list(): Promise<readonly Key[]>;
  /** What a derived key may spend in all, from now on; the difference is its giver's. */
  setBudget(idOrName: string, limitMicroUsd: number): Promise<Budget>;
  /** Shows that the client's holder has its Ed25519 key: signs the bytes that it is given. */
  prove(sign: (challenge: Uint8Array) => Uint8Array | Promise<Uint8Array>): Promise<Whoami>;
  /** By id or by name. Ends the key and everything derived from it; answers the ids of what it ended. */
  revoke(idOrName: string): Promise<readonly string[]>;
}

export function openKeys(transport: Transport): Keys {
  return {
    create: (body = {}, once) => transport.ask(createdKeySchema, "POST", "/v1/keys", { json: body, once }),
    async list() {
      return (await transport.ask(keyListSchema, "GET", "/v1/keys")).keys;
    },
    setBudget(keyId, limitMicroUsd) {
      const path = `/v1/keys/${encodeURIComponent(keyId)}/budget`;
      return transport.ask(budgetSchema, "PUT", path, { json: { limitMicroUsd } });
    },
    async prove(sign) {
      const asked = await transport.ask(identityChallengeSchema, "POST", "/v1/identity/challenge");
      const signature = btoa(String.fromCharCode(...(await sign(new TextEncoder().encode(asked.challenge)))));
      const json = { challenge: asked.challenge, signature };
      return transport.ask(whoamiSchema, "POST", "/v1/identity/proof", { json });
    },
    async revoke(keyId) {
      const path = `/v1/keys/${encodeURIComponent(keyId)}`;
      return (await transport.ask(revokedKeysSchema, "DELETE", path)).revoked;
    },
  };
}
