import { newApiKey } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../test/gateway.ts";
import { refusal } from "../test/outcomes.ts";
import { enrolRootKey } from "./index.ts";

const { openGateway, openStore } = openers(onTestFinished);

it("makes tenants that see nothing of each other, once for an idempotency key", async () => {
  const { core, store } = await openGateway(undefined, openStore());
  const operatorKey = newApiKey();
  await enrolRootKey(store, operatorKey);
  const operator = await core.authenticate(operatorKey);
  const once = { idempotencyKey: "acme" };
  const acme = await core.createOrg(operator, { name: "acme" }, once);
  expect(await core.createOrg(operator, { name: "acme" }, once)).toEqual(acme);
  await refusal(core.createOrg(operator, { name: "acme" }), "conflict");
  const other = await core.createOrg(operator, { name: "other" });
  expect((await core.listOrgs(operator)).map(({ name }) => name)).toEqual(["acme", "other"]);

  const [one, two] = [await core.authenticate(acme.apiKey), await core.authenticate(other.apiKey)];
  const { id } = await core.create(one, { name: "box", visibility: "org" });
  await core.publishProfile(one, { schema: 1, name: "theirs" });
  await refusal(core.setBudget(one, { limitMicroUsd: 9_000_000 }), "policy_denied");
  await core.setBudget(operator, { limitMicroUsd: 9_000_000, org: "acme" });
  expect(await core.getBudget(one)).toMatchObject({ limitMicroUsd: 9_000_000 });
  await refusal(core.setBudget(operator, { limitMicroUsd: 1, org: "nobody" }), "not_found");
  for (const stranger of [two, operator]) {
    await refusal(core.get(stranger, id), "not_found");
    await refusal(core.getProfile(stranger, "theirs"), "not_found");
    expect((await core.list(stranger)).sandboxes).toEqual([]);
    expect(await core.getBudget(stranger)).not.toHaveProperty("limitMicroUsd");
    const told = JSON.stringify(await core.listEvents(stranger));
    // An attempt is in the log of who made it; what was there is not.
    expect(told.replaceAll(id, "")).not.toContain("theirs");
  }
  for (const tenant of [one, two]) {
    await refusal(core.createOrg(tenant, { name: "third" }), "policy_denied");
    await refusal(core.listOrgs(tenant), "policy_denied");
    await refusal(core.setBudget(tenant, { limitMicroUsd: 1, org: "acme" }), "policy_denied");
  }
  const admin = await core.authenticate((await core.createKey(operator, { role: "admin" })).apiKey);
  await refusal(core.createOrg(admin, { name: "third" }), "policy_denied");
});

it("holds every key of a tenant to the tenant's own limits and budget", async () => {
  const { core, store } = await openGateway(undefined, openStore());
  const operatorKey = newApiKey();
  await enrolRootKey(store, operatorKey);
  const limits = { extensions: ["elsewhere"], maximumTtlMs: 60_000, budgetMicroUsd: 50_000 };
  const narrow = await core.createOrg(await core.authenticate(operatorKey), { name: "narrow", ...limits });
  const root = await core.authenticate(narrow.apiKey);
  const child = await core.authenticate((await core.createKey(root, { role: "operator" })).apiKey);
  for (const who of [root, child]) {
    await refusal(core.create(who, { extensions: ["plain"] }), "policy_denied");
    await refusal(core.create(who, { ttlMs: 60_001 }), "policy_denied");
  }
  await refusal(core.createKey(root, { extensions: ["plain"] }), "policy_denied");
  expect(await core.getBudget(child)).toMatchObject({ accountId: root.orgId, limitMicroUsd: 50_000 });
});
