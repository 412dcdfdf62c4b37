import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { join } from "node:path";
import { type CreateKeyBody, ISOLATION_CLASSES, isAtLeast, type TrustPolicy } from "@sandboxer/contract";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { refusal } from "../../test/outcomes.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";
import { createCore } from "../create-core.ts";
import { tierOf } from "./tier.ts";

const { openGateway, temporaryFolder } = openers(onTestFinished);

/** Two ways out: one that is cheap, and one that is strong. */
async function open(trust?: Partial<TrustPolicy>) {
  const { store, principal: root } = await openGateway();
  const price = (microUsdPerHour: number) => ({ basis: "provisioned" as const, microUsdPerHour });
  const light = createPlainExtension(join(temporaryFolder(), "light"), { id: "light", price: price(1) });
  const strong = createPlainExtension(join(temporaryFolder(), "strong"), {
    id: "strong",
    price: price(9),
    isolation: { class: "microvm", technology: "none" },
  });
  let nowMs = Date.now();
  const clock = { nowMs: () => nowMs, monotonicMs: () => performance.now() };
  const policy = { unknown: "strongest", verified: "process", proofMs: 60_000, ...trust } as const;
  const core = await createCore({ store, extensions: [light, strong], clock, trust: policy });
  onTestFinished(() => core.close());
  const keyOf = async (body: CreateKeyBody, parent = root) => {
    const { apiKey } = await core.createKey(parent, body);
    return { principal: () => core.authenticate(apiKey) };
  };
  const placeOf = async (who: Awaited<ReturnType<typeof keyOf>>) =>
    (await core.create(await who.principal(), {})).location?.extensionId;
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { core, root, keyOf, placeOf, pass };
}

const identity = () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  return { identity: raw.toString("base64"), privateKey };
};
const signed = (challenge: string, key: KeyObject): string =>
  sign(null, Buffer.from(challenge), key).toString("base64");

it("gives an agent nobody knows the strongest there is, and says why in the plan", async () => {
  const { core, root, keyOf, placeOf } = await open();
  const agent = await keyOf({ kind: "agent" });
  const plan = await core.explain(await agent.principal(), {});
  expect(plan).toMatchObject({
    trust: { tier: "unknown", isolation: "strongest" },
    candidates: [{ extensionId: "strong" }],
    rejected: [{ extensionId: "light", reason: expect.stringContaining("the strongest there is, microvm") }],
  });
  expect(await placeOf(agent)).toBe("strong");
  const asked = core.create(await agent.principal(), { extensions: ["light"] });
  expect((await asked).location?.extensionId, "of those that could take it").toBe("light");
  expect((await core.explain(root, {})).candidates[0], "control: a person").toMatchObject({
    extensionId: "light",
  });
  expect(await placeOf(await keyOf({ kind: "service" }))).toBe("light");
});

it("a class that is named is a floor, and with nothing that strong there is no candidate", async () => {
  const { core, keyOf } = await open({ unknown: "userspace-kernel" });
  const agent = await (await keyOf({ kind: "agent" })).principal();
  expect((await core.explain(agent, {})).candidates.map(({ extensionId }) => extensionId)).toEqual([
    "strong",
  ]);
  await refusal(core.create(agent, { extensions: ["light"] }), "no_candidate");
});

it("lets an agent that proved its identity have less, until the proof runs out", async () => {
  const { core, root, keyOf, placeOf, pass } = await open();
  const { identity: id, privateKey } = identity();
  const agent = await keyOf({ kind: "agent", identity: id });
  expect(await placeOf(agent), "said, and not proven").toBe("strong");
  const { challenge } = await core.challengeIdentity(await agent.principal());
  const proof = { challenge, signature: signed(challenge, privateKey) };
  expect(await core.proveIdentity(await agent.principal(), proof)).toMatchObject({ trust: "verified" });
  expect(await placeOf(agent)).toBe("light");
  expect(await core.explain(await agent.principal(), {})).toMatchObject({ trust: { tier: "verified" } });
  const [, key] = await core.listKeys(root);
  expect(key).toMatchObject({ identity: id, provenUntilMs: expect.any(Number) });
  expect((await core.listEvents(root, { limit: 100 })).map(({ type }) => type)).toContain("identity.proven");
  pass(60_001);
  expect(await core.whoami(await agent.principal())).toMatchObject({ trust: "unknown" });
  expect(await placeOf(agent)).toBe("strong");
});

it("takes no proof of another key, for another, of other words, too late, or twice made up", async () => {
  const { core, keyOf, pass } = await open();
  const [mine, other] = [identity(), identity()];
  const agent = await (await keyOf({ kind: "agent", identity: mine.identity })).principal();
  const twin = await (await keyOf({ kind: "agent", identity: mine.identity })).principal();
  const { challenge } = await core.challengeIdentity(agent);
  const right = signed(challenge, mine.privateKey);
  const altered = challenge.replace(/ (\d+) /, (_, until: string) => ` ${Number(until) + 9} `);
  const tries: [typeof agent, { challenge: string; signature: string }][] = [
    [agent, { challenge, signature: signed(challenge, other.privateKey) }],
    [agent, { challenge, signature: signed(`${challenge} `, mine.privateKey) }],
    [agent, { challenge: altered, signature: signed(altered, mine.privateKey) }],
    [agent, { challenge: "any words", signature: signed("any words", mine.privateKey) }],
    [twin, { challenge, signature: right }],
  ];
  for (const [who, proof] of tries) await refusal(core.proveIdentity(who, proof), "policy_denied");
  pass(300_001);
  await refusal(core.proveIdentity(agent, { challenge, signature: right }), "policy_denied");
  expect(await core.whoami(agent)).toMatchObject({ trust: "unknown" });
  const nobody = await (await keyOf({ kind: "agent" })).principal();
  await refusal(core.challengeIdentity(nobody), "invalid_state");
});

it("nobody who is unknown makes somebody who is not", async () => {
  const { core, keyOf, placeOf } = await open();
  const parent = await keyOf({ kind: "agent" });
  const { identity: id, privateKey } = identity();
  for (const body of [{ kind: "user" }, { kind: "service" }, { kind: "agent", identity: id }] as const) {
    const child = await keyOf(body, await parent.principal());
    if ("identity" in body) {
      const { challenge } = await core.challengeIdentity(await child.principal());
      const proof = { challenge, signature: signed(challenge, privateKey) };
      expect(await core.proveIdentity(await child.principal(), proof)).toMatchObject({ trust: "unknown" });
    }
    expect(await placeOf(child), body.kind).toBe("strong");
  }
  const links = fc.array(
    fc.record(
      {
        kind: fc.constantFrom("user" as const, "service" as const, "agent" as const),
        provenUntilMs: fc.constantFrom(5, 15),
      },
      { requiredKeys: ["kind"] },
    ),
    { minLength: 1, maxLength: 6 },
  );
  const rank = { unknown: 0, verified: 1, none: 2 } as const;
  const tier = (standing: Parameters<typeof tierOf>[0]["standing"]) =>
    rank[tierOf({ standing } as Parameters<typeof tierOf>[0], 10) ?? "none"];
  fc.assert(
    fc.property(links, (standing) => {
      expect(tier(standing)).toBeLessThanOrEqual(tier(standing.slice(0, -1)));
    }),
  );
  expect(ISOLATION_CLASSES.every((one) => isAtLeast("microvm", one))).toBe(true);
});
