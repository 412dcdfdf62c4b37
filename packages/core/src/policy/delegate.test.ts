import {
  type CreateKeyBody,
  ISOLATION_CLASSES,
  isAtLeast,
  OPERATIONS,
  type Principal,
  type Rights,
  ROLES,
  SandboxerError,
} from "@sandboxer/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { beyond, LIST_RULES, LISTS } from "./covers.ts";
import { delegate } from "./delegate.ts";
import { effectiveRights } from "./effective.ts";

const NOW_MS = 1_000;
const RULES = ["**", "**:443", "a.test", "a.test:443", "*.a.test", "**.a.test", "b.a.test:443", "c.b.a.test"];
const rights: fc.Arbitrary<Rights> = fc.record(
  {
    operations: fc.subarray([...OPERATIONS]),
    extensions: fc.uniqueArray(fc.constantFrom("a", "b", "c")),
    profiles: fc.uniqueArray(fc.constantFrom("python", "python@1", "python@2", "node@1")),
    network: fc.uniqueArray(fc.constantFrom(...RULES)),
    capabilities: fc.uniqueArray(fc.constantFrom("packages", "npm", "pypi", "code", "models")),
    secrets: fc.uniqueArray(fc.constantFrom("ONE", "TWO")),
    access: fc.constantFrom("read-only" as const, "read-write" as const),
    minimumIsolation: fc.constantFrom(...ISOLATION_CLASSES),
    maximumTtlMs: fc.integer({ min: 1, max: 100 }),
    budgetMicroUsd: fc.nat(100),
  },
  { requiredKeys: [] },
);
const endings = fc.record({ expiresAtMs: fc.integer({ min: NOW_MS + 1, max: 2_000 }) }, { requiredKeys: [] });
const roles = fc.record({ role: fc.constantFrom("viewer", "operator", "admin") }, { requiredKeys: [] });
const asked = fc.tuple(rights, endings, roles).map(([wide, ending, { role }]): CreateKeyBody => {
  if (!role) return { ...wide, ...ending };
  const { operations: _, ...rest } = wide;
  return { ...rest, ...ending, role };
});

const root: Principal = { id: "prn_0", orgId: "org", keyId: "key_0", chain: [{}], lineage: ["prn_0"] };

/** The principal of a child key, as the store would give it; `undefined` when it was refused. */
function childOf(parent: Principal, body: CreateKeyBody): Principal | undefined {
  try {
    const child = delegate(parent, body, NOW_MS);
    const ends = [parent.expiresAtMs, child.expiresAtMs].filter((end) => end !== undefined);
    return {
      ...parent,
      chain: [...parent.chain, child.rights],
      ...(ends.length > 0 && { expiresAtMs: Math.min(...ends) }),
    };
  } catch (error) {
    if (SandboxerError.is(error) && error.code === "policy_denied") return undefined;
    throw error;
  }
}

function assertWithin(child: Principal, parent: Principal): void {
  const [inner, outer] = [effectiveRights(child.chain), effectiveRights(parent.chain)];
  const endless = Number.POSITIVE_INFINITY;
  for (const rule of LIST_RULES) {
    if (outer[rule]) expect(beyond(LISTS[rule], outer[rule], inner[rule] ?? ["**"]), rule).toEqual([]);
  }
  if (outer.access === "read-only") expect(inner.access).toBe("read-only");
  expect(isAtLeast(inner.minimumIsolation ?? "process", outer.minimumIsolation ?? "process")).toBe(true);
  expect(inner.maximumTtlMs ?? endless).toBeLessThanOrEqual(outer.maximumTtlMs ?? endless);
  expect(inner.budgetMicroUsd ?? endless).toBeLessThanOrEqual(outer.budgetMicroUsd ?? endless);
  expect(child.expiresAtMs ?? endless).toBeLessThanOrEqual(parent.expiresAtMs ?? endless);
}

describe("AZ-2 a child is never wider", () => {
  it("in operations, extensions, profiles, network, capabilities, secrets, access, isolation, lifetime or budget, down any chain", () => {
    fc.assert(
      fc.property(fc.array(asked, { minLength: 1, maxLength: 8 }), (bodies) => {
        let parent = root;
        for (const body of bodies) {
          const child = childOf(parent, body);
          if (!child) continue;
          assertWithin(child, parent);
          assertWithin(child, root);
          parent = child;
        }
      }),
      { numRuns: 500 },
    );
  });

  const isRefusedExactly = (own: Rights, wanted: Rights) => {
    const parent: Principal = { ...root, chain: [own] };
    const child = childOf(parent, wanted);
    const endless = Number.POSITIVE_INFINITY;
    const asAsked =
      LIST_RULES.every((rule) => beyond(LISTS[rule], own[rule], wanted[rule]).length === 0) &&
      (wanted.access !== "read-write" || own.access !== "read-only") &&
      isAtLeast(wanted.minimumIsolation ?? "microvm", own.minimumIsolation ?? "process") &&
      (wanted.maximumTtlMs ?? 0) <= (own.maximumTtlMs ?? endless) &&
      (wanted.budgetMicroUsd ?? 0) <= (own.budgetMicroUsd ?? endless);
    expect(child !== undefined).toBe(asAsked);
  };

  it("is refused exactly when it asks for more than its parent has", () => {
    fc.assert(fc.property(rights, rights, isRefusedExactly));
  });

  // By themselves, since among many limits nearly every request is refused for another one.
  it.each([...LIST_RULES, "access", "minimumIsolation", "maximumTtlMs", "budgetMicroUsd"] as const)(
    "in %s by itself",
    (rule) => {
      const alone = rights.map((one) => (one[rule] === undefined ? {} : { [rule]: one[rule] }));
      fc.assert(fc.property(alone, alone, isRefusedExactly), { numRuns: 200 });
    },
  );

  it("and a chain as a whole is within each of its links, whatever they are", () => {
    fc.assert(
      fc.property(fc.array(rights, { minLength: 1, maxLength: 6 }), (chain) => {
        for (const link of chain) assertWithin({ ...root, chain }, { ...root, chain: [link] });
      }),
    );
  });
});

describe("a refusal names its rule", () => {
  const narrow: Principal = {
    ...root,
    team: "red",
    expiresAtMs: 5_000,
    chain: [
      {
        operations: ["sandbox.read", "key.create"],
        extensions: ["a"],
        minimumIsolation: "container",
        maximumTtlMs: 10,
        budgetMicroUsd: 10,
      },
    ],
  };
  it.for<[string, CreateKeyBody]>([
    ["operations", { operations: ["sandbox.exec"] }],
    ["operations", { role: "viewer" }],
    ["extensions", { extensions: ["a", "b"] }],
    ["minimumIsolation", { minimumIsolation: "process" }],
    ["maximumTtlMs", { maximumTtlMs: 11 }],
    ["budgetMicroUsd", { budgetMicroUsd: 11 }],
    ["expiresAtMs", { expiresAtMs: 5_001 }],
    ["team", { team: "blue" }],
  ])("%s: %o", ([rule, body]) => {
    try {
      delegate(narrow, body, NOW_MS);
      expect.unreachable();
    } catch (error) {
      expect(SandboxerError.from(error)).toMatchObject({ code: "policy_denied", details: { rule } });
    }
  });

  it("and the same at the limit is granted", () => {
    const body: CreateKeyBody = {
      extensions: ["a"],
      minimumIsolation: "container",
      maximumTtlMs: 10,
      budgetMicroUsd: 10,
    };
    expect(delegate(narrow, { ...body, expiresAtMs: 5_000, team: "red" }, NOW_MS)).toMatchObject({
      rights: body,
    });
  });
});

it("refuses nonsense: a past end, a role beside operations, odd amounts", () => {
  const bodies: CreateKeyBody[] = [
    { expiresAtMs: NOW_MS },
    { role: "viewer", operations: [] },
    { budgetMicroUsd: -1 },
    { budgetMicroUsd: 2 ** 53 },
    { budgetMicroUsd: 0.5 },
    { maximumTtlMs: 0 },
    { name: "Not A Name" },
  ];
  for (const body of bodies) expect(() => delegate(root, body, NOW_MS)).toThrow(/./);
});

it("knows each role as part of the next", () => {
  expect(ROLES.operator).toEqual(expect.arrayContaining([...ROLES.viewer]));
  expect(ROLES.admin).toEqual(expect.arrayContaining([...ROLES.operator]));
});
