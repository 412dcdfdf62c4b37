import { z } from "zod";
import { extensionIdSchema } from "./ids.ts";
import { isolationClassSchema } from "./isolation.ts";
import { microUsdSchema } from "./money.ts";
import { workspaceModeSchema } from "./workspace.ts";

/** Raised when the interface changes in a way old extensions cannot meet. */
export const CONTRACT_VERSION = 0;

/** Whole groups of operations. A handle has the facet if and only if the manifest lists it. */
export const FACETS = [
  "pty",
  "ports",
  "users",
  "pause",
  "stop",
  "snapshots",
  "fork",
  "network",
  "metrics",
  "workspaces",
  "images",
] as const;
export const facetSchema = z.enum(FACETS);
export type Facet = z.infer<typeof facetSchema>;

/**
 * What an extension can do, as data, known before anything is created. The router never asks an
 * extension for what its manifest does not say.
 */
export const manifestSchema = z.strictObject({
  schema: z.literal(1),
  contract: z.literal(CONTRACT_VERSION),
  id: extensionIdSchema,
  title: z.string().min(1),
  /** Ours to run, or a vendor's. */
  hosting: z.enum(["self", "vendor"]),
  isolation: z.strictObject({
    class: isolationClassSchema,
    /** The means, in words: `linux namespaces`, `runc`, `firecracker`. */
    technology: z.string().min(1),
  }),
  images: z.array(z.enum(["host", "rootfs", "oci"])),
  facets: z.array(facetSchema),
  /** How it can show a sandbox a folder of its host; left out, not at all. */
  workspaces: z.array(workspaceModeSchema).optional(),
  /** Whether it can show a sandbox a folder of this machine that others also work on. */
  volumes: z.boolean().optional(),
  persistence: z.array(z.enum(["ephemeral", "persistent", "checkpoint"])).min(1),
  /** Whether nothing is left of an ephemeral sandbox when the gateway's own machine loses its power. */
  endsWithThisMachine: z.boolean().optional(),
  /**
   * Who holds network rules: `enforced` by our guard, by the `provider`, only `advisory`, or
   * `none`. Security facets fail closed: less than asked is no candidate.
   */
  egress: z.enum(["enforced", "provider", "advisory", "none"]),
  /** Where secrets are put in: at our edge, by the vendor's transform, in the environment, nowhere. */
  credentials: z.enum(["edge", "provider-transform", "env-opt-in", "none"]),
  regions: z.array(z.string()),
  limits: z.strictObject({
    maximumTtlMs: z.int().positive().optional(),
    /** Processors that one sandbox can use; left out, unknown. */
    maximumCpus: z.number().positive().optional(),
  }),
  price: z.strictObject({
    /** What the meter runs on. */
    basis: z.enum(["provisioned", "active-cpu", "max-request-usage", "bundled-memory"]),
    microUsdPerHour: microUsdSchema.nonnegative(),
    /** While a sandbox is paused or stopped; left out, the same. */
    pausedMicroUsdPerHour: microUsdSchema.nonnegative().optional(),
  }),
});
export type Manifest = z.infer<typeof manifestSchema>;
