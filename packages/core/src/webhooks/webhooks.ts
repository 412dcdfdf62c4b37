import {
  type CreateWebhookBody,
  createWebhookBodySchema,
  newRowId,
  type Principal,
  SandboxerError,
  type Webhook,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import { parse } from "../parse.ts";
import { authorize } from "../policy/authorize.ts";
import { guardedAddress } from "./network.ts";
import { newSecret } from "./sign.ts";

/** Deliveries carry the org's whole log, so they are the root key's to arrange. */
function authorizeWebhooks({ chain }: Principal): void {
  authorize(chain, "webhook.write");
  if (chain.length === 1) return;
  throw new SandboxerError("policy_denied", "only the root key arranges webhooks", {
    details: { rule: "root" },
  });
}

/** From now on, every event of the org goes there. The secret is shown here and not again. */
export async function createWebhook(house: House, principal: Principal, body: CreateWebhookBody) {
  authorizeWebhooks(principal);
  const { url, types } = parse(createWebhookBodySchema, body);
  await guardedAddress(house.webhookNetwork, new URL(url));
  const { orgId, id: principalId } = principal;
  const secret = newSecret();
  await house.journal.flush();
  const webhook = await house.store.insertWebhook({
    id: newRowId("whk"),
    orgId,
    principalId,
    url,
    ...(types && { types }),
    secret,
    atMs: house.clock.nowMs(),
  });
  return { webhook, secret };
}

export async function listWebhooks(house: House, principal: Principal): Promise<Webhook[]> {
  authorizeWebhooks(principal);
  return house.store.listWebhooks(principal.orgId);
}

export async function deleteWebhook(house: House, principal: Principal, webhookId: string): Promise<void> {
  authorizeWebhooks(principal);
  const { orgId, id: principalId } = principal;
  const gone = await house.store.deleteWebhook({ orgId, webhookId, principalId, atMs: house.clock.nowMs() });
  if (!gone) throw new SandboxerError("not_found", `no webhook ${webhookId}`);
}
