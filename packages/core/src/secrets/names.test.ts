import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { refusal } from "../../test/outcomes.ts";

const { openGateway } = openers(onTestFinished);
const BOUND = [{ host: "api.example.com", place: { in: "header" as const, name: "authorization" } }];
const valued = (value: string) => ({ value: value.padEnd(24, "x"), bindings: BOUND });

async function open() {
  const gateway = await openGateway();
  const { core, principal } = gateway;
  const childOf = async () => {
    const { apiKey, key } = await core.createKey(principal, {});
    return { who: await core.authenticate(apiKey), keyId: key.id };
  };
  return { ...gateway, one: await childOf(), two: await childOf() };
}

it("is a name of its owner's: two have one each, and neither hears of the other", async () => {
  const { core, one, two } = await open();
  const first = await core.setSecret(one.who, "TOKEN", valued("one"));
  const second = await core.setSecret(two.who, "TOKEN", valued("two"));
  expect(second.id).not.toBe(first.id);
  expect((await core.setSecret(one.who, "TOKEN", valued("more"))).version, "one's own again").toBe(2);
  expect((await core.listSecrets(two.who)).map(({ id, version }) => [id, version])).toEqual([[second.id, 1]]);
  await core.deleteSecret(one.who, "TOKEN");
  expect((await core.listSecrets(two.who)).map(({ id }) => id)).toEqual([second.id]);
});

it("is chosen by its id by who sees several and owns none", async () => {
  const { core, principal, one, two } = await open();
  const first = await core.setSecret(one.who, "TOKEN", valued("one"));
  const second = await core.setSecret(two.who, "TOKEN", valued("two"));
  const value = "next".padEnd(24, "x");
  const several = await refusal(core.rotateSecret(principal, "TOKEN", { value }), "conflict");
  const ids = (several.details as { secrets: { id: string }[] }).secrets.map(({ id }) => id);
  expect(ids.toSorted()).toEqual([first.id, second.id].toSorted());
  expect(await core.rotateSecret(principal, second.id, { value })).toMatchObject({
    id: second.id,
    version: 2,
  });
  const own = await core.setSecret(principal, "TOKEN", valued("root"));
  expect((await core.rotateSecret(principal, "TOKEN", { value })).id, "one's own goes before").toBe(own.id);
  await refusal(core.rotateSecret(one.who, second.id, { value }), "not_found");
});

it("means one's own before what was granted, and the granted before nothing", async () => {
  const { core, store, principal, one } = await open();
  const given = await core.setSecret(principal, "TOKEN", valued("root"));
  await core.grantSecret(principal, "TOKEN", { keyId: one.keyId });
  const meant = async () => (await store.getSecret(principal.orgId, "TOKEN", one.who.id))?.id;
  expect(await meant()).toBe(given.id);
  await refusal(core.deleteSecret(one.who, "TOKEN"), "policy_denied");
  const own = await core.setSecret(one.who, "TOKEN", valued("one"));
  expect(await meant()).toBe(own.id);
  await core.deleteSecret(one.who, "TOKEN");
  expect(await meant()).toBe(given.id);
});
