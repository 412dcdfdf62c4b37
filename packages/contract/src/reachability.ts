import { z } from "zod";
import { sandboxIdSchema } from "./ids.ts";
import { sandboxStateSchema } from "./lifecycle.ts";
import { facetSchema } from "./manifest.ts";

/**
 * How to get to a sandbox, as data. Paths are below the gateway's own address, which its callers
 * know better than it does. Tunnels and certificates are an outside bridge's, which reads this.
 */
export const reachabilitySchema = z.strictObject({
  schema: z.literal(1),
  sandboxId: sandboxIdSchema,
  state: sandboxStateSchema,
  /** Until when; absent while it is still being made. */
  untilMs: z.int().optional(),
  ways: z.array(
    z.strictObject({
      kind: z.enum(["exec", "terminal", "files", "port", "preview", "events"]),
      method: z.enum(["GET", "POST"]),
      /** `{port}` stands for any port inside. */
      path: z.string(),
    }),
  ),
  /** Begins the host names of its ports, before the gateway's own: `{port}-<id>`. */
  hostLabel: z.string(),
  facets: z.array(facetSchema),
  /** Where it runs, for who keeps a map. */
  where: z.strictObject({ extensionId: z.string(), hostId: z.string() }).optional(),
});
export type Reachability = z.infer<typeof reachabilitySchema>;
