import { z } from "zod";
import { egressFor, egressSchema, GUARDED } from "./egress.ts";
import { findLiving } from "./find.ts";
import { control } from "./route.ts";

export const networkRoutes = [
  control(
    {
      method: "PUT",
      path: "/sandboxes/{id}/network",
      operation: "sandbox.network",
      body: egressSchema.extend({ allow_internet_access: z.boolean().nullish() }),
    },
    async ({ core, desk, principal, params, body }) => {
      const { id, spec } = await findLiving(core, principal, params.id ?? "");
      const network = egressFor(body, body.allow_internet_access ?? true, desk.internet);
      if (spec.network.egress === "deny" && !network) return { status: 204 };
      await core.changeNetwork(principal, id, network ?? { ...GUARDED, rules: [] });
      return { status: 204 };
    },
  ),
];
