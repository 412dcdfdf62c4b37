import { z } from "zod";

/**
 * Which requests get the same living sandbox back: those of one conversation, of one agent, or of
 * everybody who sees it. `session` and `agent` belong to the principal that asks, so that two of
 * them under the same key never meet; `shared` belongs to its team or its org.
 */
export const REUSE_SCOPES = ["session", "agent", "shared"] as const;
export const reuseScopeSchema = z.enum(REUSE_SCOPES);

export const reuseSchema = z.strictObject({
  scope: reuseScopeSchema,
  /** The caller's own word for it: a conversation's id, a project's name. */
  key: z.string().regex(/^[\x21-\x7e]{1,200}$/, "a reuse key is 1 to 200 visible ASCII characters"),
});
export type Reuse = z.infer<typeof reuseSchema>;
