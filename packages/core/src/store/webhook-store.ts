import type { Event, Webhook } from "@sandboxer/contract";

/** Who is told of an org's events. Part of the store; every method is one commit. */
export interface WebhookStore {
  /** It begins with what is written after this. */
  insertWebhook(webhook: NewWebhook): Promise<Webhook>;
  listWebhooks(orgId: string): Promise<Webhook[]>;
  deleteWebhook(remove: RemoveWebhook): Promise<boolean>;
  /** Across orgs: with something to deliver, and not waiting for its next try. */
  listDueWebhooks(nowMs: number): Promise<DueWebhook[]>;
  /** Delivered up to here. `false` when it already was, or is no more. */
  advanceWebhook(webhookId: string, cursorSeq: number): Promise<boolean>;
  /** Without a next attempt it is given up. */
  failWebhook(fail: FailWebhook): Promise<void>;
}

export interface NewWebhook {
  readonly id: string;
  readonly orgId: string;
  readonly principalId: string;
  readonly url: string;
  readonly types?: readonly Event["type"][];
  /** Kept as it is: signing needs it. */
  readonly secret: string;
  readonly atMs: number;
}

export interface RemoveWebhook {
  readonly orgId: string;
  readonly webhookId: string;
  readonly principalId: string;
  readonly atMs: number;
}

export interface DueWebhook extends Webhook {
  readonly secret: string;
}

export interface FailWebhook {
  readonly webhookId: string;
  readonly cursorSeq: number;
  readonly error: string;
  readonly atMs: number;
  readonly nextAttemptAtMs?: number;
}
