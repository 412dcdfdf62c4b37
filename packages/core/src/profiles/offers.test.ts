import { collect, type Metrics, profileSchema } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { refusal } from "../../test/outcomes.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);

it("lists each profile with where it would run, for how much, and how soon it started", async () => {
  const { core, principal } = await openGateway(undefined, openStore());
  await core.publishProfile(principal, { schema: 1, name: "strong", isolation: "microvm" });
  for (let made = 0; made < 3; made++) await core.create(principal, { profile: "python" });
  const offers = Object.fromEntries(
    (await core.listProfiles(principal)).map(({ name, offer }) => [name, offer]),
  );
  expect(offers.python).toMatchObject({
    candidates: [{ extensionId: "plain", microUsdPerHour: 3_600_000 }],
    coldStart: { samples: 3 },
  });
  expect(offers.base).not.toHaveProperty("coldStart");
  expect(offers.strong).toMatchObject({
    candidates: [],
    reason: expect.stringContaining("microvm is asked"),
  });
  const key = await core.createKey(principal, { profiles: ["base"] });
  const narrow = await core.listProfiles(await core.authenticate(key.apiKey));
  expect(narrow.find(({ name }) => name === "python")?.offer).toMatchObject({ candidates: [] });
});

it("shows a profile to those it is for, and lets nobody take its name unseen", async () => {
  const { core, principal } = await openGateway(undefined, openStore());
  const childOf = async (team?: string) =>
    core.authenticate((await core.createKey(principal, { role: "admin", ...(team && { team }) })).apiKey);
  const [red, reds, blue] = [await childOf("red"), await childOf("red"), await childOf("blue")];
  await core.publishProfile(red, { schema: 1, name: "ours", visibility: "team" });
  await core.publishProfile(red, { schema: 1, name: "mine", visibility: "private" });
  const names = async (who: typeof red) =>
    (await core.listProfiles(who)).filter(({ builtIn }) => !builtIn).map(({ name }) => name);
  expect(await names(red)).toEqual(["ours", "mine"]);
  expect(await names(principal), "an ancestor").toEqual(["ours", "mine"]);
  expect(await names(reds)).toEqual(["ours"]);
  expect(await names(blue)).toEqual([]);
  await refusal(core.create(blue, { profile: "ours" }), "not_found");
  await refusal(core.publishProfile(blue, { schema: 1, name: "mine" }), "conflict");
  await refusal(
    core.publishProfile(principal, { schema: 1, name: "x", visibility: "team" }),
    "invalid_request",
  );
  await core.publishProfile(red, { schema: 1, name: "child", extends: "mine" });
  expect(await names(blue), "sight is not inherited").toEqual(["child"]);
});

it("holds a request to the profile's scope, limits, idle time, facets and setup", async () => {
  const { core, principal } = await openGateway(undefined, openStore());
  const profile = {
    schema: 1,
    name: "kept",
    limits: "required",
    scope: "agent",
    idleMs: 5_000,
    setup: [["true"]],
  };
  await core.publishProfile(principal, profile);
  const refused = async (body: object, rule: string) => {
    const error = await refusal(core.create(principal, { profile: "kept", ...body }), "policy_denied");
    expect(error.details).toEqual({ rule: `profile.${rule}` });
  };
  await refused({ limits: "best-effort" }, "limits");
  await refused({ reuse: { scope: "session", key: "a" } }, "scope");
  await refused({ idleMs: 5_001 }, "idleMs");
  const { spec } = await core.create(principal, { profile: "kept", idleMs: 4_000, setup: [["echo"]] });
  expect(spec).toMatchObject({ limits: "required", idleMs: 4_000, setup: [["true"], ["echo"]] });
  const lacking = await refusal(core.create(principal, { facets: ["pty"] }), "no_candidate");
  expect(JSON.stringify(lacking.details)).toContain("has no pty");
});

it("suggests a profile from what an audited sandbox used, while it lives and afterwards", async () => {
  const plain = createPlainExtension(temporaryFolder(), { facets: ["metrics"] });
  const seen: Metrics = {
    atMs: 0,
    cpuTimeMs: 0,
    memoryBytes: 10 << 20,
    memoryPeakBytes: 100 << 20,
    pids: 20,
    diskBytes: 5 << 20,
    oomKills: 0,
  };
  let looks = 0;
  Object.assign(plain, {
    metrics: { read: async () => ({ ...seen, atMs: ++looks * 1_000, cpuTimeMs: looks * 1_500 }) },
  });
  const { core, principal } = await openGateway([plain], openStore());
  const { id } = await core.create(principal, { audit: true, ttlMs: 60_000 });
  await collect(await core.exec(principal, id, { argv: ["echo", "secret"] }));
  await core.suggestProfile(principal, id);
  const living = await core.suggestProfile(principal, id, "fitting");
  await core.destroy(principal, id);
  const after = await core.suggestProfile(principal, id, "fitting");
  for (const { profile, usage, notes } of [living, after]) {
    expect(profileSchema.parse(profile)).toMatchObject({
      name: "fitting",
      resources: { memoryMiB: 192, pids: 32, cpus: 2.5, diskMiB: 64 },
      ttlMs: 60_000,
    });
    expect(usage.programs).toEqual({ echo: 1 });
    expect(notes.join()).toContain("the guard's to know");
    expect(JSON.stringify([profile, usage, notes])).not.toContain("secret");
  }
  await core.publishProfile(principal, after.profile);
  const plainly = await core.create(principal, {});
  await refusal(core.suggestProfile(principal, plainly.id), "invalid_request");
});
