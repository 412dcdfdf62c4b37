import { createHmac, randomBytes } from "node:crypto";
import type { Event } from "@sandboxer/contract";

export function newSecret(): string {
  return `whsec_${randomBytes(24).toString("base64")}`;
}

/** An event as CloudEvents 1.0 in JSON. */
export function cloudEvent(event: Event): string {
  const { id, orgId, seq, atMs, type, sandboxId, principalId, data, hash } = event;
  return JSON.stringify({
    specversion: "1.0",
    id,
    source: `/orgs/${orgId}`,
    type: `dev.sandboxer.${type}.v1`,
    ...(sandboxId !== undefined && { subject: `/sandboxes/${sandboxId}` }),
    time: new Date(atMs).toISOString(),
    sequence: String(seq).padStart(16, "0"),
    datacontenttype: "application/json",
    data: { ...data, ...(sandboxId && { sandboxId }), ...(principalId && { principalId }), hash },
  });
}

/** As Standard Webhooks signs: the id and the time too, so that neither can be replayed with another body. */
export function signedHeaders(
  secret: string,
  id: string,
  atMs: number,
  body: string,
): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1_000));
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    "content-type": "application/cloudevents+json",
    "user-agent": "sandboxer-webhooks",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
}
