import {
  type ImportedPolicy,
  importedPolicySchema,
  type OfferedProfile,
  type PublishedProfile,
  profileListSchema,
  publishedProfileSchema,
  type Suggestion,
  suggestionSchema,
} from "@sandboxer/contract";
import type { Once, Transport } from "./transport.ts";

export interface Profiles {
  /** Built-in ones, and what the org published; each with where it would run, its price and its start. */
  list(): Promise<readonly OfferedProfile[]>;
  /** As in `python` for the newest, or `python@2`. */
  get(ref: string): Promise<PublishedProfile>;
  /** The next version of its name; it never changes afterwards. */
  publish(profile: object, once?: Once): Promise<PublishedProfile>;
  deprecate(ref: string): Promise<PublishedProfile>;
  /** One that fits what an audited sandbox used. Publishes nothing. */
  suggest(sandbox: string, name?: string): Promise<Suggestion>;
  /** One that allows nothing an OpenShell policy does not, and what of the policy it is not. Publishes nothing. */
  importOpenShell(policy: object, name?: string): Promise<ImportedPolicy>;
}

export function openProfiles(transport: Transport): Profiles {
  const at = (ref: string) => `/v1/profiles/${encodeURIComponent(ref)}`;
  return {
    async list() {
      return (await transport.ask(profileListSchema, "GET", "/v1/profiles")).profiles;
    },
    get: (ref) => transport.ask(publishedProfileSchema, "GET", at(ref)),
    publish: (profile, once) =>
      transport.ask(publishedProfileSchema, "POST", "/v1/profiles", { json: profile, once }),
    suggest: (sandbox, name) =>
      transport.ask(suggestionSchema, "POST", "/v1/profiles/suggest", { json: { sandbox, name } }),
    importOpenShell: (policy, name) =>
      transport.ask(importedPolicySchema, "POST", "/v1/profiles/import-openshell", {
        json: { policy, name },
      }),
    deprecate: (ref) => transport.ask(publishedProfileSchema, "POST", `${at(ref)}/deprecate`, {}),
  };
}
