import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  type CreateBody,
  ISOLATION_CLASSES,
  isAtLeast,
  type Profile,
  profileJsonSchema,
  profileSchema,
  SandboxerError,
  WORKSPACE_REACH,
} from "@sandboxer/contract";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { refusal } from "../../test/outcomes.ts";
import { narrowToProfile } from "./narrow.ts";
import { builtInProfiles } from "./resolve.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);

const mine = (more: Partial<Profile> = {}) => ({ schema: 1, name: "mine", ...more });

it("publishes versions that never change, and means the newest by the name alone", async () => {
  const path = join(temporaryFolder(), "store.db");
  const { core, principal } = await openGateway(undefined, openStore(path));
  const first = await core.publishProfile(principal, mine({ extends: "python", ttlMs: 5_000 }));
  expect(first).toMatchObject({ version: 1, profile: { extends: "python@1" } });
  expect(first.resolved).toMatchObject({
    env: { PYTHONUNBUFFERED: "1" },
    ttlMs: 5_000,
    maximumTtlMs: 86_400_000,
  });
  expect(await core.publishProfile(principal, mine({ extends: "python", ttlMs: 5_000 })), "the same").toEqual(
    first,
  );
  const second = await core.publishProfile(principal, mine({ extends: "python", ttlMs: 6_000 }));
  expect(second.version).toBe(2);
  expect(await core.getProfile(principal, "mine")).toEqual(second);
  await core.deprecateProfile(principal, "mine@2");
  expect(await core.getProfile(principal, "mine")).toEqual(first);
  expect(await core.getProfile(principal, "mine@2")).toMatchObject({ deprecatedAtMs: expect.any(Number) });
  expect((await core.publishProfile(principal, mine({ extends: "python", ttlMs: 6_000 }))).version).toBe(3);
  expect(
    (await core.publishProfile(principal, { schema: 1, name: "python" })).version,
    "after the built-in",
  ).toBe(2);
  expect(await core.getProfile(principal, "mine@1"), "what it extends is pinned").toEqual(first);

  const intruder = new DatabaseSync(path);
  expect(() => intruder.exec("UPDATE profiles SET resolved = '{}'")).toThrow("never changes");
  expect(() => intruder.exec("DELETE FROM profiles")).toThrow("never changes");
  intruder.close();
});

it("makes one version of many at once, and keeps orgs apart", async () => {
  const { core, principal } = await openGateway();
  const once = { idempotencyKey: "publish" };
  const all = await Promise.all([1, 2, 3].map(() => core.publishProfile(principal, mine(), once)));
  expect(new Set(all.map(({ version }) => version))).toEqual(new Set([1]));
  const elsewhere = { ...principal, orgId: "org_elsewhere" };
  await refusal(core.getProfile(elsewhere, "mine"), "not_found");
});

it("refuses what is no profile, what is reserved, and what may not be touched", async () => {
  const { core, principal } = await openGateway();
  const publish = (body: unknown) => core.publishProfile(principal, body);
  for (const field of ["gpu", "browser", "desktop", "region"]) {
    const refused = await refusal(publish({ ...mine(), [field]: true }), "unsupported");
    expect(refused.details).toEqual({ fields: [field] });
    await refusal(core.create(principal, { [field]: true } as CreateBody), "unsupported");
  }
  await refusal(publish({ ...mine(), misspelt: 1 }), "invalid_request");
  await refusal(publish({ name: "mine" }), "invalid_request");
  await refusal(publish(mine({ ttlMs: 9_000, maximumTtlMs: 8_000 })), "invalid_request");
  await refusal(publish(mine({ extends: "nobody@3" })), "not_found");
  await refusal(publish(null), "invalid_request");
  await refusal(core.deprecateProfile(principal, "base@1"), "policy_denied");
  await refusal(core.deprecateProfile(principal, "base"), "invalid_request");
  const viewer = await core.authenticate((await core.createKey(principal, { role: "operator" })).apiKey);
  await refusal(core.publishProfile(viewer, mine()), "policy_denied");
});

it("lets a request have no more of a folder than its profile does", () => {
  const asked = (mode?: "read-only" | "copy-on-write" | "read-write") =>
    ({ workspace: { source: "/srv/project", ...(mode && { mode }) } }) as CreateBody;
  for (const [at, most] of WORKSPACE_REACH.entries()) {
    const profile = mine({ workspace: most }) as Profile;
    for (const mode of ["read-only", "copy-on-write", "read-write"] as const) {
      const narrow = () => narrowToProfile(profile, asked(mode));
      if (WORKSPACE_REACH.indexOf(mode) <= at) expect(narrow().workspace).toEqual(asked(mode).workspace);
      else expect(narrow).toThrowError(expect.objectContaining({ details: { rule: "profile.workspace" } }));
    }
    expect(narrowToProfile(profile, {}).workspace, "none that was not asked for").toBe(undefined);
  }
  const readOnly = mine({ workspace: "read-only" }) as Profile;
  expect(() => narrowToProfile(readOnly, asked()), "what is left out is copy-on-write").toThrow(/read-only/);
  expect(narrowToProfile(mine() as Profile, asked("read-write")).workspace).toBeDefined();
});

it("creates by profile and records which, and holds a key to the profiles it was given", async () => {
  const { core, principal } = await openGateway();
  const { digest } = await core.getProfile(principal, "python");
  const sandbox = await core.create(principal, { profile: "python", env: { MINE: "1" } });
  expect(sandbox.profile).toEqual({ name: "python", version: 1, digest });
  expect(sandbox.spec).toMatchObject({ ttlMs: 3_600_000, env: { MINE: "1", PYTHONUNBUFFERED: "1" } });
  const wider = await refusal(
    core.create(principal, { profile: "python", ttlMs: 86_400_001 }),
    "policy_denied",
  );
  expect(wider.details.rule).toBe("profile.ttlMs");
  await core.publishProfile(principal, mine({ resources: { memoryMiB: 64, pids: 20 } }));
  const small = await core.create(principal, { profile: "mine", resources: { pids: 10 } });
  expect(small.spec.resources).toMatchObject({ memoryMiB: 64, pids: 10, cpus: 2 });
  const large = core.create(principal, { profile: "mine", resources: { memoryMiB: 65 } });
  expect((await refusal(large, "policy_denied")).details.rule).toBe("profile.resources.memoryMiB");
  await refusal(core.create(principal, { profile: "nobody" }), "not_found");
  await refusal(core.create(principal, { profile: "../etc" }), "invalid_request");

  const bound = await core.authenticate(
    (await core.createKey(principal, { profiles: ["python@1", "web"] })).apiKey,
  );
  expect(await core.create(bound, { profile: "python" })).toMatchObject({ state: "running" });
  expect((await refusal(core.create(bound, {}), "policy_denied")).details.rule).toBe("profiles");
  await refusal(core.create(bound, { profile: "node" }), "policy_denied");
  await core.createKey(bound, { profiles: ["web@1"] });
  expect((await refusal(core.createKey(bound, { profiles: ["python"] }), "policy_denied")).details.rule).toBe(
    "profiles",
  );
});

describe("a request only narrows its profile", () => {
  const words = fc.constantFrom("a", "b", "c");
  const parts = {
    isolation: fc.constantFrom(...ISOLATION_CLASSES),
    extensions: fc.uniqueArray(words),
    ttlMs: fc.integer({ min: 1_000, max: 9_000 }),
    budgetMicroUsd: fc.nat(9),
    root: fc.constantFrom("allowed" as const, "denied" as const),
    env: fc.dictionary(words, words, { noNullPrototype: true }),
    routing: fc.record(
      {
        policy: fc.constantFrom("lowest-cost" as const, "explicit" as const),
        maximumMicroUsdPerHour: fc.nat(9),
      },
      { requiredKeys: [] },
    ),
  };
  const profiles: fc.Arbitrary<Profile> = fc
    .record({ ...parts, maximumTtlMs: parts.ttlMs }, { requiredKeys: [] })
    .map((one) => ({ schema: 1, name: "any", ...one }));

  it("or is refused with the rule", () => {
    fc.assert(
      fc.property(profiles, fc.record(parts, { requiredKeys: [] }), (profile, body) => {
        let narrow: CreateBody;
        try {
          narrow = narrowToProfile(profile, body);
        } catch (error) {
          expect(SandboxerError.from(error).details.rule).toMatch(/^profile\./);
          return;
        }
        const endless = Number.POSITIVE_INFINITY;
        if (profile.isolation) expect(isAtLeast(narrow.isolation!, profile.isolation)).toBe(true);
        if (profile.extensions)
          expect(profile.extensions).toEqual(expect.arrayContaining(narrow.extensions!));
        const longest = profile.maximumTtlMs ?? profile.ttlMs ?? endless;
        expect(narrow.ttlMs ?? 0).toBeLessThanOrEqual(Math.max(longest, profile.ttlMs ?? 0));
        if (profile.budgetMicroUsd !== undefined)
          expect(narrow.budgetMicroUsd).toBeLessThanOrEqual(profile.budgetMicroUsd);
        if (profile.root === "denied") expect(narrow.root).toBe("denied");
        expect(narrow.env).toMatchObject(profile.env ?? {});
        expect(narrow).toMatchObject(body.ttlMs === undefined ? {} : { ttlMs: body.ttlMs });
      }),
    );
  });
});

it("describes itself to editors, and its own profiles hold to it", () => {
  expect(profileJsonSchema()).toMatchObject({ type: "object", additionalProperties: false });
  for (const { profile, resolved } of builtInProfiles()) {
    expect(profileSchema.parse(profile)).toEqual(profile);
    expect(profileSchema.parse(resolved)).toEqual(resolved);
  }
});
