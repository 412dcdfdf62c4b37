import type { Event, Webhook } from "@sandboxer/contract";
import type { Claim } from "./idempotency-store.ts";

/** Who is told of an org's events. Part of the store; every method is one commit. */
export interface WebhookStore {
  /** It begins with what is written after this. */
  insertWebhook(webhook: NewWebhook, claim?: Claim & { readonly answer: string }): Promise<Webhook>;
  /** Across orgs, as they are kept. */
  listWebhookSecrets(): Promise<{ readonly id: string; readonly secret: string }[]>;
  replaceWebhookSecret(webhookId: string, secret: string): Promise<void>;
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
  readonly name?: string;
  /** Sealed: signing needs it, and nobody else. */
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
