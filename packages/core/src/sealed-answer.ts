import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Principal } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { answerOnce, claimOf, type Once } from "./idempotency.ts";
import type { Claim } from "./store/idempotency-store.ts";

/** What a command writes beside its work, so that its answer can be repeated. */
type Claimed<T> = (answer: T) => Claim & { readonly answer: string };

/** As `answerOnce`, for an answer that holds a secret: what is kept for a repetition is sealed. */
export async function answerSealedOnce<T>(
  house: House,
  principal: Principal,
  asked: { readonly operation: string; readonly body: unknown; readonly once: Once },
  work: (claimed?: Claimed<T>) => Promise<T>,
): Promise<T> {
  const { idempotencyKey = "" } = asked.once;
  const claim = claimOf(house, principal, asked.operation, asked.body, asked.once);
  if (!claim) return work();
  const sealed = await answerOnce(house, claim, async () => {
    const answer = await work((told) => ({
      ...claim,
      answer: JSON.stringify(seal(JSON.stringify(told), claim, idempotencyKey)),
    }));
    return seal(JSON.stringify(answer), claim, idempotencyKey);
  });
  return JSON.parse(unseal(sealed, claim, idempotencyKey));
}

/** So that an answer that holds a secret can be repeated to who knows the idempotency key, and only then. */
function seal(text: string, { scope }: Claim, idempotencyKey: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", sealingKey(scope, idempotencyKey), nonce);
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64");
}

function unseal(sealed: string, { scope }: Claim, idempotencyKey: string): string {
  const bytes = Buffer.from(sealed, "base64");
  const decipher = createDecipheriv("aes-256-gcm", sealingKey(scope, idempotencyKey), bytes.subarray(0, 12));
  decipher.setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
}

function sealingKey(scope: string, idempotencyKey: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", idempotencyKey, scope, "answer", 32));
}
