import {
  CONTRACT_VERSION,
  ISOLATION_CLASSES,
  isAtLeast,
  type Manifest,
  ROUTING_POLICIES,
  type SandboxSpec,
} from "@sandboxer/contract";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type Offer, route } from "./route.ts";

const isolationClass = fc.constantFrom(...ISOLATION_CLASSES);
const manifests: fc.Arbitrary<Manifest> = fc.record({
  schema: fc.constant(1 as const),
  contract: fc.constant(CONTRACT_VERSION),
  id: fc.constantFrom("a", "b", "c", "d", "e"),
  title: fc.constant("one"),
  hosting: fc.constantFrom("self" as const, "vendor" as const),
  isolation: fc.record({ class: isolationClass, technology: fc.constant("some") }),
  images: fc.subarray(["host" as const, "rootfs" as const]),
  facets: fc.constant([]),
  persistence: fc.subarray(["ephemeral" as const, "persistent" as const], { minLength: 1 }),
  egress: fc.constantFrom("enforced" as const, "provider" as const, "advisory" as const, "none" as const),
  credentials: fc.constant("none" as const),
  regions: fc.constant([]),
  limits: fc.record(
    { maximumTtlMs: fc.integer({ min: 1, max: 20_000 }), maximumCpus: fc.integer({ min: 1, max: 9 }) },
    { requiredKeys: [] },
  ),
  price: fc.record({ basis: fc.constant("provisioned" as const), microUsdPerHour: fc.nat(9) }),
});
const probes = fc.constantFrom<Offer["probe"]>(
  { status: "offer", findings: [] },
  { status: "unavailable", reason: "no kernel", fix: "get one", findings: [] },
);
const offers = fc.uniqueArray(fc.record({ manifest: manifests, probe: probes }), {
  selector: ({ manifest }) => manifest.id,
});
const specs: fc.Arbitrary<SandboxSpec> = fc
  .record({
    isolation: isolationClass,
    ttlMs: fc.integer({ min: 1_000, max: 20_000 }),
    extensions: fc.option(fc.subarray(["a", "b", "c"]), { nil: undefined }),
    resources: fc.record({ cpus: fc.integer({ min: 1, max: 9 }) }, { requiredKeys: [] }),
  })
  .map((asked) => ({
    schema: 1,
    image: { kind: "host" },
    persistence: "ephemeral",
    network: { egress: "deny" },
    limits: "best-effort",
    env: {},
    labels: {},
    ...asked,
  }));

it("never plans for less than was asked, and gives a reason for everything it leaves out", () => {
  fc.assert(
    fc.property(specs, offers, (spec, given) => {
      const { candidates, rejected } = route(spec, given);
      expect(candidates.length + rejected.length).toBe(given.length);
      expect(rejected.every(({ reason }) => reason.length > 0)).toBe(true);
      for (const { extensionId } of candidates) {
        const offer = given.find(({ manifest }) => manifest.id === extensionId)!;
        const { isolation, images, egress, persistence, limits } = offer.manifest;
        expect(offer.probe.status).toBe("offer");
        expect(isAtLeast(isolation.class, spec.isolation)).toBe(true);
        expect(images).toContain("host");
        expect(["enforced", "provider"]).toContain(egress);
        expect(persistence).toContain("ephemeral");
        expect(limits.maximumCpus ?? 9).toBeGreaterThanOrEqual(spec.resources.cpus ?? 0);
        expect(limits.maximumTtlMs ?? spec.ttlMs).toBeGreaterThanOrEqual(spec.ttlMs);
        expect(spec.extensions ?? [extensionId]).toContain(extensionId);
      }
    }),
  );
});

it("holds to the price ceiling and to the policy, and never adds a candidate by either", () => {
  const routings = fc.record(
    { policy: fc.constantFrom(...ROUTING_POLICIES), maximumMicroUsdPerHour: fc.nat(9) },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(specs, offers, routings, (spec, given, routing) => {
      const plain = route(spec, given).candidates.map(({ extensionId }) => extensionId);
      const { candidates, rejected, policy } = route(spec, given, routing);
      expect(candidates.length + rejected.length).toBe(given.length);
      expect(plain).toEqual(expect.arrayContaining(candidates.map(({ extensionId }) => extensionId)));
      for (const [index, one] of candidates.entries()) {
        expect(one.microUsdPerHour).toBeLessThanOrEqual(
          routing.maximumMicroUsdPerHour ?? one.microUsdPerHour,
        );
        const next = candidates[index + 1];
        if (!next) continue;
        if (policy === "lowest-cost") expect(one.microUsdPerHour).toBeLessThanOrEqual(next.microUsdPerHour);
        if (policy !== "explicit") continue;
        const order = spec.extensions ?? [];
        expect(order.indexOf(one.extensionId)).toBeLessThan(order.indexOf(next.extensionId));
      }
      if (policy === "explicit" && !spec.extensions) expect(candidates).toEqual([]);
    }),
  );
});

it("ranks our own first, then the cheaper, then by id, whatever the order of the offers", () => {
  fc.assert(
    fc.property(specs, offers, (spec, given) => {
      const { candidates } = route(spec, given);
      expect(route(spec, given.toReversed())).toEqual(route(spec, given));
      for (const [index, next] of candidates.slice(1).entries()) {
        const { hosting, microUsdPerHour, extensionId } = candidates[index]!;
        const rank = [hosting === "self" ? 0 : 1, microUsdPerHour, extensionId];
        const nextRank = [next.hosting === "self" ? 0 : 1, next.microUsdPerHour, next.extensionId];
        const firstDifference = rank.findIndex((part, at) => part !== nextRank[at]);
        expect(rank[firstDifference]! < nextRank[firstDifference]!).toBe(true);
      }
    }),
  );
});
