import {
  CONTRACT_VERSION,
  ISOLATION_CLASSES,
  isAtLeast,
  type Manifest,
  type SandboxSpec,
} from "@sandboxer/contract";
import fc from "fast-check";
import { expect, it } from "vitest";
import { route } from "./route.ts";

/** All that was ever asked for at once, and an extension that has exactly that. */
const SPEC: SandboxSpec = {
  schema: 1,
  image: { kind: "oci", ref: "debian:12" },
  isolation: "container",
  persistence: "persistent",
  network: { egress: "guarded", mode: "enforce", rules: [], sets: [] },
  resources: {},
  limits: "best-effort",
  env: {},
  labels: {},
  ttlMs: 10_000,
  extensions: ["one"],
  secrets: ["TOKEN"],
  facets: ["pause"],
  from: "snp_one",
  volumes: [{ volume: "vol_one", target: "/v" }],
  workspace: { source: "/srv", target: "/workspace", mode: "copy-on-write", allowSensitive: false },
};
const FIT: Manifest = {
  schema: 1,
  contract: CONTRACT_VERSION,
  id: "one",
  title: "one",
  hosting: "self",
  isolation: { class: "container", technology: "some" },
  images: ["oci"],
  facets: ["pause", "snapshots", "network"],
  workspaces: ["copy-on-write"],
  volumes: true,
  persistence: ["persistent"],
  egress: "enforced",
  credentials: "edge",
  regions: [],
  limits: { maximumTtlMs: 10_000 },
  price: { basis: "provisioned", microUsdPerHour: 5 },
};
const CEILING = { maximumMicroUsdPerHour: 5 };

/** Each one lacks one thing; the reason says which. */
const LACKING: Readonly<Record<string, readonly [Partial<Manifest>, RegExp]>> = {
  "the lists": [{ id: "other" }, /not among those allowed/],
  isolation: [{ isolation: { class: "process", technology: "some" } }, /isolation is process/],
  image: [{ images: ["host", "rootfs"] }, /takes no oci image/],
  workspace: [{ workspaces: ["read-only"] }, /no copy-on-write workspace/],
  "any workspace": [{ workspaces: undefined } as Partial<Manifest>, /no copy-on-write workspace/],
  volumes: [{ volumes: false }, /gives no volumes/],
  snapshots: [{ facets: ["pause", "network"] }, /restores no snapshot/],
  "egress, advisory": [{ egress: "advisory" }, /cannot deny egress/],
  "egress, none": [{ egress: "none" }, /cannot deny egress/],
  "a guard's door": [{ facets: ["pause", "snapshots"] }, /guard could watch/],
  "credentials in variables": [{ credentials: "env-opt-in" }, /shown the secrets/],
  "credentials of the provider's": [{ credentials: "provider-transform" }, /shown the secrets/],
  "credentials at all": [{ credentials: "none" }, /shown the secrets/],
  persistence: [{ persistence: ["ephemeral"] }, /no persistent sandboxes/],
  "a facet": [{ facets: ["snapshots", "network"] }, /has no pause/],
  life: [{ limits: { maximumTtlMs: 9_999 } }, /ends a sandbox after/],
  "the price": [{ price: { basis: "provisioned", microUsdPerHour: 6 } }, /costs \$0\.000006/],
};
const offer = (manifest: Manifest) => ({ manifest, probe: { status: "offer" as const, findings: [] } });

it("takes what has all of it, and nothing that is not there now", () => {
  expect(route(SPEC, [offer(FIT)], CEILING).candidates).toHaveLength(1);
  const away = { status: "unavailable" as const, reason: "no kernel", fix: "get one", findings: [] };
  const { candidates, rejected } = route(SPEC, [{ manifest: FIT, probe: away }], CEILING);
  expect([candidates, rejected[0]?.reason]).toEqual([[], "unavailable: no kernel"]);
});

it.each(Object.entries(LACKING))("leaves out what lacks %s, and says so", (_, [part, reason]) => {
  const { candidates, rejected } = route(SPEC, [offer({ ...FIT, ...part })], CEILING);
  expect(candidates).toEqual([]);
  expect(rejected[0]?.reason).toMatch(reason);
});

it("never plans for something weaker, whatever any number of them lack", () => {
  const lacks = fc.subarray(Object.values(LACKING));
  const stronger = fc.constantFrom(...ISOLATION_CLASSES.filter((one) => isAtLeast(one, "container")));
  const some = fc.tuple(lacks, stronger).map(([parts, isolation]) => {
    const strong = { ...FIT, isolation: { class: isolation, technology: "some" } };
    return { fits: parts.length === 0, manifest: Object.assign(strong, ...parts.map(([part]) => part)) };
  });
  fc.assert(
    fc.property(fc.array(some, { maxLength: 8 }), (all) => {
      const named = all.map(({ fits, manifest }, at) => {
        const id = manifest.id === "one" ? `one-${at}` : `other-${at}`;
        return { fits, manifest: { ...manifest, id } };
      });
      const spec = { ...SPEC, extensions: named.map((_, at) => `one-${at}`) };
      const plan = route(
        spec,
        named.map(({ manifest }) => offer(manifest)),
        CEILING,
      );
      const fit = named.filter(({ fits }) => fits).map(({ manifest }) => manifest.id);
      expect(plan.candidates.map(({ extensionId }) => extensionId).sort()).toEqual(fit.sort());
      expect(plan.rejected).toHaveLength(named.length - fit.length);
    }),
    { numRuns: 500 },
  );
});
