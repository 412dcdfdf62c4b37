import { expect, it, onTestFinished } from "vitest";
import { openers } from "../test/gateway.ts";
import { refusal } from "../test/outcomes.ts";

const { openGateway } = openers(onTestFinished);

it("AZ-1 gives a word for one key and one sandbox, which opens nothing else and ends with its key", async () => {
  const { core, principal } = await openGateway();
  const { apiKey, key } = await core.createKey(principal, { name: "child" });
  const child = await core.authenticate(apiKey);
  const [one, other] = [await core.create(child, {}), await core.create(child, {})];
  const token = await core.openAccess(child, one.id);
  expect(await core.openAccess(child, one.id)).toBe(token);
  expect(token).not.toContain(apiKey);
  expect(await core.enterAccess(one.id, token)).toEqual(child);
  expect(await core.standIn(one.id)).toEqual(child);

  const sibling = await core.authenticate((await core.createKey(principal, { name: "sibling" })).apiKey);
  await refusal(core.openAccess(sibling, one.id), "not_found");
  const wrong = [
    token.replace(/\../, (start) => (start === ".A" ? ".B" : ".A")),
    key.id,
    `${principal.keyId}.x`,
    "",
  ];
  for (const bad of wrong) {
    await refusal(core.enterAccess(one.id, bad), "unauthenticated");
  }
  await refusal(core.enterAccess(other.id, token), "unauthenticated");
  await refusal(core.standIn("a".repeat(20)), "not_found");

  await core.revokeKey(principal, key.id);
  await refusal(core.enterAccess(one.id, token), "unauthenticated");
  await refusal(core.standIn(one.id), "unauthenticated");
});

it("finds what carries a label again, with who made it, whose key may have ended", async () => {
  const { core, principal } = await openGateway();
  const { apiKey, key } = await core.createKey(principal, { name: "child" });
  const child = await core.authenticate(apiKey);
  const [marked, over] = await Promise.all(
    ["one", "two"].map((value) => core.create(child, { labels: { "a.mark": value } })),
  );
  await core.create(child, { labels: { "a.marker": "x", other: "a.mark" } });
  await core.destroy(child, over?.id ?? "");
  expect((await core.listMarked("a.mark")).map(({ id }) => id)).toEqual([marked?.id]);
  await core.revokeKey(principal, key.id);
  const makers = await core.makersOf(marked?.id ?? "");
  expect(makers.map(({ keyId }) => keyId)).toEqual([key.id, principal.keyId]);
  await refusal(core.makersOf("a".repeat(20)), "not_found");
});

it("AZ-1 tells nobody by where a list goes on whether another's sandbox is there", async () => {
  const { core, principal } = await openGateway();
  const keyOf = async (name: string) => core.authenticate((await core.createKey(principal, { name })).apiKey);
  const [one, other] = [await keyOf("one"), await keyOf("other")];
  const [first, second] = [await core.create(one, {}), await core.create(one, {})];
  const absent = await core.list(other, { after: "a".repeat(20) }).catch((error) => error);
  const foreign = await core.list(other, { after: first.id }).catch((error) => error);
  expect(foreign).toMatchObject({ code: "invalid_request", message: absent.message });
  const { sandboxes } = await core.list(one, { after: second.id });
  expect(
    sandboxes.map(({ id }) => id),
    "control",
  ).toEqual([first.id]);
});
