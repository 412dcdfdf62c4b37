import { z } from "zod";
import type { Rights } from "./rights.ts";

export interface Principal {
  readonly id: string;
  readonly orgId: string;
  readonly keyId: string;
  /** Left out where nobody said; then it is taken for no person. */
  readonly kind?: "user" | "service" | "agent";
  /** From the root key down to the key in use. Effective rights are what every link allows. */
  readonly chain: readonly Rights[];
  /** The principals of that chain, this one last: all of them see what it keeps private. */
  readonly lineage: readonly string[];
  readonly team?: string;
  /** When the first key of the chain runs out. */
  readonly expiresAtMs?: number;
  /** What is known of each link's holder; left out, nobody has said, and none is an agent. */
  readonly standing?: readonly Standing[];
  /** Which of its attachments it acts through; left out, the one it has to the sandbox at hand. */
  readonly attachmentId?: string;
}

export interface Standing {
  readonly kind: NonNullable<Principal["kind"]>;
  /** Until when its proof of who it is holds. */
  readonly provenUntilMs?: number;
}

/** Who a sandbox is for; recorded on every sandbox, event and charge. */
export const consumerSchema = z.strictObject({
  kind: z.enum(["person", "agent", "automation"]).default("person"),
  project: z.string().max(200).optional(),
  task: z.string().max(200).optional(),
});
export type Consumer = z.infer<typeof consumerSchema>;

/** Who sees a sandbox besides its principal and that one's ancestors, who always do. */
export const VISIBILITIES = ["private", "team", "org"] as const;
export const visibilitySchema = z.enum(VISIBILITIES);
export type Visibility = z.infer<typeof visibilitySchema>;
