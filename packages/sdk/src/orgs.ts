import {
  type CreatedOrg,
  type CreateOrgBody,
  createdOrgSchema,
  type Org,
  orgListSchema,
} from "@sandboxer/contract";
import type { Once, Transport } from "./transport.ts";

/** Tenants; the installation's root key's alone. */
export interface Orgs {
  /** The answer is the only time its root key is shown. */
  create(body: CreateOrgBody, once?: Once): Promise<CreatedOrg>;
  list(): Promise<readonly Org[]>;
}

export function openOrgs(transport: Transport): Orgs {
  return {
    create: (body, once) => transport.ask(createdOrgSchema, "POST", "/v1/orgs", { json: body, once }),
    async list() {
      return (await transport.ask(orgListSchema, "GET", "/v1/orgs")).orgs;
    },
  };
}
