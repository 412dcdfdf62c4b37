import { createPublicKey, randomBytes, timingSafeEqual, verify } from "node:crypto";
import {
  type IdentityChallenge,
  type Principal,
  type ProveIdentityBody,
  proveIdentityBodySchema,
  SandboxerError,
  type Whoami,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import { holderOf, whoami } from "../keys.ts";
import { parse } from "../parse.ts";

const PATIENCE_MS = 300_000;
const WRITTEN = /^sandboxer-identity-v1 (\S+) (\S+) (\d{1,15}) ([\w-]{22}) ([\w-]{43})$/;

/**
 * What the holder of a key signs to show who it is. Nothing is kept: the last word is ours, and
 * says that we wrote the others.
 */
export async function challengeIdentity(house: House, principal: Principal): Promise<IdentityChallenge> {
  await identityOf(house, principal);
  const expiresAtMs = house.clock.nowMs() + PATIENCE_MS;
  const nonce = randomBytes(16).toString("base64url");
  const words = ["sandboxer-identity-v1", house.installationId, principal.keyId, expiresAtMs, nonce].join(
    " ",
  );
  return { keyId: principal.keyId, challenge: `${words} ${sealOf(house, words)}`, expiresAtMs };
}

/** From now on it is a verified agent, for as long as the operator says a proof holds. */
export async function proveIdentity(
  house: House,
  principal: Principal,
  body: ProveIdentityBody,
): Promise<Whoami> {
  const { challenge, signature } = parse(proveIdentityBodySchema, body);
  const identity = await identityOf(house, principal);
  const nowMs = house.clock.nowMs();
  const [, installation, keyId, until = "", , seal = ""] = WRITTEN.exec(challenge) ?? [];
  const words = challenge.slice(0, challenge.lastIndexOf(" "));
  const isOurs = installation === house.installationId && isSame(seal, sealOf(house, words));
  if (!isOurs || keyId !== principal.keyId || Number(until) <= nowMs) {
    refuse("this is no challenge for this key, or its time is up");
  }
  const raw = Buffer.from(identity, "base64");
  const key = createPublicKey({
    key: { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") },
    format: "jwk",
  });
  if (!verify(null, Buffer.from(challenge), key, Buffer.from(signature, "base64"))) {
    refuse("the signature is not of the key that this one's holder should have");
  }
  const { id: principalId, orgId } = principal;
  const untilMs = nowMs + house.trust.proofMs;
  await house.store.proveIdentity({ orgId, keyId: principal.keyId, principalId, untilMs, atMs: nowMs });
  return whoami(house, holderOf(house, await house.store.findKeyById(principal.keyId)));
}

function refuse(message: string): never {
  throw new SandboxerError("policy_denied", message, {
    details: { rule: "identity" },
    hint: "Ask for a challenge, and sign exactly its bytes within five minutes.",
  });
}

async function identityOf(house: House, { orgId, keyId }: Principal): Promise<string> {
  const key = (await house.store.listKeys(orgId, keyId)).find(({ id }) => id === keyId);
  if (key?.identity) return key.identity;
  throw new SandboxerError("invalid_state", "nobody has said which Ed25519 key the holder of this one has", {
    hint: "Whoever makes the key says so: `sandboxer keys create --identity agent.pub`.",
  });
}

const sealOf = ({ sealer }: House, words: string): string =>
  Buffer.from(sealer.derive(`identity:${words}`, 32)).toString("base64url");

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
