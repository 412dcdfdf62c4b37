import type { Attachment, Sandbox } from "@sandboxer/contract";
import type { Claim } from "./idempotency-store.ts";

/** Who uses a sandbox. Part of the store; every method is one commit. */
export interface AttachmentStore {
  /** The one that a first use makes; asked again, the same. */
  ensureAttachment(attachment: NewAttachment): Promise<Attachment>;
  /**
   * One that was asked for. Gives back the end that the sandbox had before it was forsaken.
   * `undefined` when the sandbox is over; `conflict` when the principal has one of that name.
   */
  attach(attach: Attach): Promise<Joined | undefined>;
  /** `undefined` when it was detached already, or never was. */
  detach(detach: Detach): Promise<Attachment | undefined>;
  getAttachment(orgId: string, attachmentId: string): Promise<Attachment | undefined>;
  /** Also those that left, oldest first. */
  listAttachments(sandboxId: string): Promise<Attachment[]>;
  /** A principal's, also those that left. */
  attachmentsOf(sandboxId: string, principalId: string): Promise<Attachment[]>;
  /** Across orgs: sandboxes that all who were attached have left, until what follows is done. */
  listForsaken(): Promise<Forsaken[]>;
  isForsaken(sandboxId: string): Promise<boolean>;
  /** What follows is done. */
  settleForsaken(sandboxId: string): Promise<void>;
  /** It ends by then, unless somebody comes back. `undefined` when somebody did, or it is over. */
  retain(retain: { readonly sandboxId: string; readonly expiresAtMs: number }): Promise<Sandbox | undefined>;
}

/** The store gives one that has a user of its own the id, and so every read-only one. */
export interface NewAttachment extends Omit<Attachment, "uid" | "detachedAtMs"> {
  readonly ownUser?: boolean;
}

export interface Attach {
  readonly attachment: NewAttachment;
  /** `AlreadyClaimed` when another request has it. */
  readonly claim?: Claim | undefined;
  readonly hibernate: boolean;
  /** How long a sandbox made for this is kept without anybody; left out, as it was. */
  readonly retentionMs?: number | undefined;
}

export interface Joined {
  readonly attachment: Attachment;
  readonly sandbox: Sandbox;
  /** Its end moved back to where it was. */
  readonly returned: boolean;
}

export interface Detach {
  readonly attachmentId: string;
  readonly atMs: number;
  readonly principalId: string;
}

export interface Forsaken {
  readonly sandbox: Sandbox;
  readonly hibernates: boolean;
  readonly retentionMs?: number;
}
