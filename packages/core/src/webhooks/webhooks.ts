import {
  type CreateWebhookBody,
  createWebhookBodySchema,
  newRowId,
  type Principal,
  SandboxerError,
  type Webhook,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import type { Once } from "../idempotency.ts";
import { parse } from "../parse.ts";
import { authorize } from "../policy/authorize.ts";
import { answerSealedOnce } from "../sealed-answer.ts";
import { isSealed } from "../secrets/sealer.ts";
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
export async function createWebhook(
  house: House,
  principal: Principal,
  body: CreateWebhookBody,
  once: Once = {},
): Promise<{ webhook: Webhook; secret: string }> {
  authorizeWebhooks(principal);
  const { url, types, name } = parse(createWebhookBodySchema, body);
  await guardedAddress(house.webhookNetwork, new URL(url));
  const { orgId, id: principalId } = principal;
  const asked = { operation: "webhook.create", body, once };
  const { id, secret } = await answerSealedOnce<{ id: string; secret: string }>(
    house,
    principal,
    asked,
    async (claimed) => {
      const made = { id: newRowId("whk"), secret: newSecret() };
      await house.journal.flush();
      const webhook = {
        ...made,
        orgId,
        principalId,
        url,
        ...(name !== undefined && { name }),
        ...(types && { types }),
        secret: house.sealer.seal(purposeOf(made.id), made.secret),
        atMs: house.clock.nowMs(),
      };
      await house.store.insertWebhook(webhook, claimed?.(made));
      return made;
    },
  );
  const webhook = (await house.store.listWebhooks(orgId)).find((one) => one.id === id);
  if (!webhook) throw new SandboxerError("conflict", "the webhook of this idempotency key was deleted");
  return { webhook, secret };
}

/** What a secret is sealed for, so that no row can be given another's. */
export const purposeOf = (webhookId: string): string => `webhook:${webhookId}`;

/** Written before secrets were sealed. */
export async function sealPlainSecrets(house: House): Promise<void> {
  for (const { id, secret } of await house.store.listWebhookSecrets()) {
    if (!isSealed(secret))
      await house.store.replaceWebhookSecret(id, house.sealer.seal(purposeOf(id), secret));
  }
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
