import { z } from "zod";
import { sandboxIdSchema } from "./ids.ts";
import { portSchema } from "./ports.ts";

export const MAXIMUM_PREVIEW_MS = 24 * 3_600_000;

export const createPreviewBodySchema = z.strictObject({
  port: portSchema,
  /** How long the address is good for; it ends with its key and its sandbox in any case. */
  ttlMs: z.int().min(1_000).max(MAXIMUM_PREVIEW_MS).default(3_600_000),
});
export type CreatePreviewBody = z.input<typeof createPreviewBodySchema>;

/** A port inside as an address for a browser. Whoever has the address has the port, and nothing else. */
export const previewSchema = z.strictObject({
  sandboxId: sandboxIdSchema,
  port: portSchema,
  /** An origin of its own; opens the page and then keeps the token in a cookie. */
  url: z.string(),
  /** For programs, and where names below the host's do not resolve: a page there has no cookies. */
  pathUrl: z.string(),
  /** For the header `x-sandboxer-preview`, with `url`'s host. */
  token: z.string(),
  expiresAtMs: z.int(),
});
export type Preview = z.infer<typeof previewSchema>;
