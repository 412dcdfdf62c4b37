import { newApiKey, type Principal } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { refusal } from "../../test/outcomes.ts";

const { openGateway, openStore } = openers(onTestFinished);

async function open() {
  const gateway = await openGateway(undefined, openStore());
  const { core, store, principal } = gateway;
  const denied = async (orgId = principal.orgId) => {
    await core.listEvents(principal);
    const events = await store.listEvents(orgId, 0, 1_000);
    return events
      .filter(({ type }) => type === "access.denied")
      .map(({ principalId, data }) => ({ principalId, ...data }));
  };
  const childOf = async (body: object): Promise<Principal> =>
    core.authenticate((await core.createKey(principal, body)).apiKey);
  return { ...gateway, denied, childOf };
}

it("AZ-11 writes every denial down: what was asked, of what, and which rule refused it", async () => {
  const { core, principal, denied, childOf } = await open();
  const { id } = await core.create(principal, { ttlMs: 60_000 });
  const viewer = await childOf({ role: "viewer" });
  await refusal(core.create(viewer, {}), "policy_denied");
  await refusal(core.destroy(viewer, id), "policy_denied");
  await refusal(core.get(viewer, id), "not_found");
  await core.setBudget(principal, { limitMicroUsd: 60_000 });
  await refusal(core.create(principal, { ttlMs: 60_000 }), "budget_exceeded");
  const { apiKey, key } = await core.createKey(principal, {});
  await core.revokeKey(principal, key.id);
  await refusal(core.authenticate(apiKey), "unauthenticated");
  expect(await denied()).toMatchObject([
    { principalId: viewer.id, verb: "create", code: "policy_denied", rule: "operations" },
    { principalId: viewer.id, verb: "destroy", target: id },
    { principalId: viewer.id, verb: "find", code: "not_found", rule: "visibility", target: id },
    { principalId: principal.id, verb: "create", code: "budget_exceeded" },
    { principalId: key.principal.id, keyId: key.id, verb: "authenticate", rule: "revoked" },
  ]);
  expect(await core.verifyAudit(principal)).not.toHaveProperty("brokenSeq");
  await refusal(core.get(principal, "a".repeat(20)), "not_found");
  await refusal(core.create(principal, { ttlMs: -1 }), "invalid_request");
  expect(await denied(), "control: absence and mistakes are none").toHaveLength(5);
});

it("AZ-11 counts what repeats, so that a loop cannot fill the log, and loses none at the end", async () => {
  const { core, denied, childOf } = await open();
  const viewer = await childOf({ role: "viewer" });
  for (let time = 0; time < 25; time++) {
    await refusal(core.create(viewer, {}), "policy_denied");
    await refusal(core.destroy(viewer, `name-${time}`), "policy_denied");
  }
  await core.close();
  const told = await denied();
  expect(told.length).toBeLessThan(10);
  const times = told.map((one) => Number("times" in one ? one.times : 1));
  expect(times.reduce((sum, one) => sum + one, 0)).toBe(50);
  expect(JSON.stringify(told)).toContain("name-0");
});

it("AZ-11 keeps a key that nobody holds in the installation's own log, and shows no key", async () => {
  const { core, store, denied } = await open();
  const guess = newApiKey();
  for (let time = 0; time < 3; time++) await refusal(core.authenticate(guess), "unauthenticated");
  const installationId = await store.claimMeta("installation-id", "none");
  const told = () => denied(installationId);
  await expect.poll(told).toMatchObject([{ verb: "authenticate", rule: "unknown" }]);
  expect(JSON.stringify(await told())).not.toContain(guess.slice(-20));
});
