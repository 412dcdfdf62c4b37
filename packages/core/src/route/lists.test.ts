import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { refusal } from "../../test/outcomes.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";
import { enrolRootKey } from "../keys.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);
const ALL = ["a", "b", "c", "d", "e"];

/** Five ways out that differ in nothing but their names. */
async function open() {
  const folder = temporaryFolder();
  const store = openStore();
  const { core } = await openGateway(
    ALL.map((id) => createPlainExtension(join(folder, id), { id })),
    store,
  );
  await enrolRootKey(store, "installation");
  const root = await core.authenticate("installation");
  const { apiKey } = await core.createOrg(root, { name: "tenant", extensions: ["a", "b", "c", "d"] });
  const tenant = await core.authenticate(apiKey);
  const child = await core.createKey(tenant, { extensions: ["a", "b", "c"] });
  const agent = await core.authenticate(child.apiKey);
  await core.publishProfile(tenant, {
    schema: 1,
    name: "few",
    visibility: "org",
    extensions: ["a", "b", "d"],
  });
  const candidates = async (who: typeof root, body: object) =>
    (await core.explain(who, body)).candidates.map(({ extensionId }) => extensionId).sort();
  return { core, root, tenant, agent, candidates };
}

it("goes where org, key, profile and request all allow, each of them by itself and all together", async () => {
  const { root, tenant, agent, candidates } = await open();
  expect(await candidates(root, {}), "no list").toEqual(ALL);
  expect(await candidates(tenant, {}), "the org's").toEqual(["a", "b", "c", "d"]);
  expect(await candidates(agent, {}), "the key's").toEqual(["a", "b", "c"]);
  expect(await candidates(tenant, { profile: "few" }), "the profile's").toEqual(["a", "b", "d"]);
  expect(await candidates(root, { extensions: ["e"] }), "the request's").toEqual(["e"]);
  expect(await candidates(agent, { profile: "few" }), "key and profile").toEqual(["a", "b"]);
  expect(await candidates(agent, { profile: "few", extensions: ["b"] }), "all four").toEqual(["b"]);
});

it("says of each that is left out why, and runs on one that is left", async () => {
  const { core, agent } = await open();
  const { rejected } = await core.explain(agent, { profile: "few", extensions: ["b"] });
  expect(rejected.map(({ extensionId, reason }) => [extensionId, reason])).toEqual(
    ["a", "c", "d", "e"].map((id) => [id, "not among those allowed"]),
  );
  const { location } = await core.create(agent, { profile: "few", extensions: ["b"] });
  expect(location?.extensionId).toBe("b");
});

it("refuses what any of the four leaves out, and names the rule", async () => {
  const { core, tenant, agent } = await open();
  const asked: [string, typeof agent, object][] = [
    ["the org's", tenant, { extensions: ["e"] }],
    ["the key's", agent, { extensions: ["d"] }],
    ["the profile's", agent, { profile: "few", extensions: ["c"] }],
  ];
  for (const [whose, who, body] of asked) {
    const error = await refusal(core.create(who, body), "policy_denied");
    expect(error.details.rule, whose).toMatch(/extensions/);
  }
  await refusal(core.createKey(agent, { extensions: ["d"] }), "policy_denied");
});
