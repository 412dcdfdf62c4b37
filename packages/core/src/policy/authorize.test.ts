import {
  ISOLATION_CLASSES,
  isAtLeast,
  OPERATIONS,
  type Rights,
  SandboxerError,
  type SandboxSpec,
} from "@sandboxer/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { authorize, authorizeCreate, authorizeUse } from "./authorize.ts";

const extensionId = fc.constantFrom("a", "b", "c");
const isolation = fc.constantFrom(...ISOLATION_CLASSES);
const ttlMs = fc.integer({ min: 1_000, max: 7_200_000 });
const link: fc.Arbitrary<Rights> = fc.record(
  {
    operations: fc.subarray([...OPERATIONS]),
    extensions: fc.uniqueArray(extensionId),
    minimumIsolation: isolation,
    maximumTtlMs: fc.integer({ min: 1, max: 7_200_000 }),
  },
  { requiredKeys: [] },
);
const chains = fc.tuple(fc.array(link, { maxLength: 4 }), link, fc.nat());
const requests = fc.record(
  { isolation, ttlMs, extensions: fc.uniqueArray(extensionId) },
  { requiredKeys: [] },
);

/** The outcome, or `undefined` where policy denies it. */
function allowed<T>(work: () => T): { value: T } | undefined {
  try {
    return { value: work() };
  } catch (error) {
    if (SandboxerError.is(error) && error.code === "policy_denied") return undefined;
    throw error;
  }
}

function insert(chain: readonly Rights[], extra: Rights, at: number): Rights[] {
  return chain.toSpliced(at % (chain.length + 1), 0, extra);
}

const within = (inner: SandboxSpec, outer: SandboxSpec) =>
  inner.ttlMs <= outer.ttlMs &&
  isAtLeast(inner.isolation, outer.isolation) &&
  (!outer.extensions || inner.extensions?.every((id) => outer.extensions?.includes(id)));

describe("AZ-2 a longer chain never allows more", () => {
  it("creates nothing that the shorter chain refuses, and nothing wider", () => {
    fc.assert(
      fc.property(chains, requests, ([chain, extra, at], request) => {
        const longer = allowed(() => authorizeCreate(insert(chain, extra, at), request));
        const shorter = allowed(() => authorizeCreate(chain, request));
        if (longer) expect(shorter && within(longer.value.spec, shorter.value.spec)).toBe(true);
      }),
    );
  });

  it("uses nothing that the shorter chain may not use", () => {
    const places = fc.record({ extensionId, isolation });
    fc.assert(
      fc.property(chains, places, fc.constantFrom(...OPERATIONS), ([chain, extra, at], place, operation) => {
        const longer = allowed(() => authorizeUse(insert(chain, extra, at), operation, place) ?? true);
        const shorter = allowed(() => authorizeUse(chain, operation, place) ?? true);
        if (longer) expect(shorter).toBeDefined();
      }),
    );
  });

  it("gives a spec that every single link allows", () => {
    fc.assert(
      fc.property(fc.array(link, { maxLength: 4 }), requests, (chain, request) => {
        const outcome = allowed(() => authorizeCreate(chain, request));
        if (!outcome) return;
        const { spec } = outcome.value;
        for (const { operations, extensions, minimumIsolation, maximumTtlMs } of chain) {
          expect(operations?.includes("sandbox.create") ?? true).toBe(true);
          expect(spec.ttlMs).toBeLessThanOrEqual(maximumTtlMs ?? spec.ttlMs);
          expect(isAtLeast(spec.isolation, minimumIsolation ?? "process")).toBe(true);
          if (extensions) expect(extensions).toEqual(expect.arrayContaining(spec.extensions ?? ["none"]));
        }
      }),
    );
  });
});

describe("a denial names its rule", () => {
  const rule = (work: () => unknown) => {
    try {
      work();
    } catch (error) {
      return SandboxerError.from(error).details.rule;
    }
  };

  it("for each right", () => {
    expect(rule(() => authorize([{ operations: [] }], "sandbox.read"))).toBe("operations");
    expect(rule(() => authorizeCreate([{ maximumTtlMs: 5_000 }], { ttlMs: 6_000 }))).toBe("maximumTtlMs");
    expect(rule(() => authorizeCreate([{ maximumTtlMs: 10 }], {}))).toBe("maximumTtlMs");
    expect(rule(() => authorizeCreate([{ extensions: ["a"] }], { extensions: ["b"] }))).toBe("extensions");
    expect(rule(() => authorizeCreate([{ extensions: ["a"] }, { extensions: ["b"] }], {}))).toBe(
      "extensions",
    );
    expect(rule(() => authorizeCreate([{ extensions: [] }], {}))).toBe("extensions");
    const place = { extensionId: "a", isolation: "process" } as const;
    expect(rule(() => authorizeUse([{ minimumIsolation: "microvm" }], "sandbox.exec", place))).toBe(
      "minimumIsolation",
    );
  });

  it("but a default is cut to fit, and the isolation floor is raised", () => {
    const { spec } = authorizeCreate([{ maximumTtlMs: 5_000, minimumIsolation: "container" }], {});
    expect(spec).toMatchObject({ ttlMs: 5_000, isolation: "container" });
    expect(spec).not.toHaveProperty("extensions");
  });
});

it("answers a malformed request with its path and its problem", () => {
  const body = { ttlMs: 5, image: { kind: "rootfs", path: "relative" } } as const;
  expect(() => authorizeCreate([], body)).toThrow(/image\.path: .*absolute.*ttlMs: /);
});
