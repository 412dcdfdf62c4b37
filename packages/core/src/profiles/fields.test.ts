import type { CreateBody, Profile } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { narrowToProfile } from "./narrow.ts";

const { openGateway } = openers(onTestFinished);

interface Field {
  /** What a profile says, what the one that extends it says instead, and what the two give. */
  readonly own: unknown;
  readonly later: unknown;
  readonly both?: unknown;
  /** A request that takes less of it. Absent where there is no less. */
  readonly narrower?: CreateBody;
  /** Requests that would take more, or something else. Absent where a request cannot speak of it. */
  readonly wider?: readonly CreateBody[];
}

const guarded = (...hosts: string[]) => ({
  egress: "guarded" as const,
  mode: "enforce" as const,
  rules: hosts.map((host) => ({ effect: "allow" as const, host, protocol: "https" as const })),
  sets: [],
});

/** Every field of a profile. One that is missing here does not compile. */
const FIELDS: Readonly<
  Record<Exclude<keyof Profile, "schema" | "name" | "description" | "extends" | "visibility">, Field>
> = {
  image: {
    own: { kind: "host" },
    later: { kind: "oci", ref: "a" },
    wider: [{ image: { kind: "oci", ref: "b" } }],
  },
  from: { own: "snp_one", later: "snp_two", wider: [{ from: "snp_three" }] },
  isolation: {
    own: "container",
    later: "microvm",
    narrower: { isolation: "microvm" },
    wider: [{ isolation: "container" }],
  },
  persistence: { own: "ephemeral", later: "persistent", wider: [{ persistence: "ephemeral" }] },
  network: {
    own: guarded("a.test"),
    later: guarded("b.test"),
    narrower: { network: { egress: "deny" } },
    wider: [{ network: guarded("c.test") }, { network: { ...guarded("b.test"), mode: "audit" } }],
  },
  secrets: { own: ["A"], later: ["B", "C"], narrower: { secrets: ["B"] }, wider: [{ secrets: ["A"] }] },
  approvals: {
    own: ["sandbox.exec"],
    later: ["sandbox.destroy"],
    narrower: { approvals: ["sandbox.attach"] },
  },
  resources: {
    own: { memoryMiB: 64 },
    later: { memoryMiB: 32 },
    narrower: { resources: { memoryMiB: 16 } },
    wider: [{ resources: { memoryMiB: 33 } }],
  },
  root: { own: "allowed", later: "denied", wider: [{ root: "allowed" }] },
  workspace: {
    own: "read-write",
    later: "read-only",
    narrower: { workspace: { source: "/srv", mode: "read-only" } },
    wider: [{ workspace: { source: "/srv", mode: "copy-on-write" } }],
  },
  limits: { own: "best-effort", later: "required", wider: [{ limits: "best-effort" }] },
  scope: {
    own: "agent",
    later: "session",
    narrower: { reuse: { scope: "session", key: "k" } },
    wider: [{ reuse: { scope: "shared", key: "k" } }],
  },
  idleMs: { own: 60_000, later: 50_000, narrower: { idleMs: 40_000 }, wider: [{ idleMs: 50_001 }] },
  atEnd: { own: "stop", later: "destroy", wider: [{ atEnd: "stop" }] },
  keepMs: { own: 90_000, later: 80_000, narrower: { keepMs: 70_000 }, wider: [{ keepMs: 80_001 }] },
  retain: { own: { count: 1 }, later: { count: 2 }, wider: [{ retain: { count: 3 } }] },
  facets: { own: ["pause"], later: ["ports"], narrower: { facets: ["metrics"] } },
  setup: { own: [["true"]], later: [["false"]], narrower: { setup: [["echo"]] } },
  verify: { own: [["true"]], later: [["false"]], narrower: { verify: [["echo"]] } },
  runbook: { own: "one", later: "two", wider: [{ runbook: "three" }] },
  pool: { own: 1, later: 2 },
  env: {
    own: { A: "1" },
    later: { B: "2" },
    both: { A: "1", B: "2" },
    narrower: { env: { C: "3" } },
    wider: [{ env: { A: "9" } }],
  },
  labels: {
    own: { a: "1" },
    later: { b: "2" },
    both: { a: "1", b: "2" },
    narrower: { labels: { c: "3" } },
    wider: [{ labels: { b: "9" } }],
  },
  ttlMs: { own: 60_000, later: 50_000, narrower: { ttlMs: 40_000 }, wider: [{ ttlMs: 50_001 }] },
  maximumTtlMs: { own: 60_000, later: 50_000, narrower: { ttlMs: 50_000 }, wider: [{ ttlMs: 50_001 }] },
  extensions: {
    own: ["a"],
    later: ["b", "c"],
    narrower: { extensions: ["c"] },
    wider: [{ extensions: ["a"] }],
  },
  routing: {
    own: { policy: "explicit" },
    later: { policy: "lowest-cost", maximumMicroUsdPerHour: 9 },
    narrower: { routing: { maximumMicroUsdPerHour: 8 } },
    wider: [{ routing: { maximumMicroUsdPerHour: 10 } }, { routing: { policy: "explicit" } }],
  },
  budgetMicroUsd: { own: 9, later: 8, narrower: { budgetMicroUsd: 7 }, wider: [{ budgetMicroUsd: 9 }] },
};

it.each(Object.entries(FIELDS))("%s: the later wins, and a request only narrows it", async (name, field) => {
  const { core, principal } = await openGateway();
  const { own, later, both = later, narrower, wider = [] } = field;
  // What starts from a snapshot is pinned to one that is there: the others are looked at as they are.
  const published = async (body: object) =>
    name === "from"
      ? ({ ...body, schema: 1, name: "any" } as Profile)
      : (await core.publishProfile(principal, { schema: 1, ...body })).resolved;
  await published({ name: "base-one", [name]: own });
  const resolved = await published({
    name: "late",
    ...(name !== "from" && { extends: "base-one" }),
    [name]: later,
  });
  expect(resolved[name as keyof Profile]).toEqual(both);
  const plain = narrowToProfile(resolved, {}) as Record<string, unknown>;
  const isBodys = !["workspace", "scope", "pool", "maximumTtlMs"].includes(name);
  if (isBodys) expect(plain[name], "a sandbox has it").toEqual(both);
  if (narrower) expect(() => narrowToProfile(resolved, narrower)).not.toThrow();
  for (const body of wider) {
    expect(() => narrowToProfile(resolved, body), JSON.stringify(body)).toThrowError(
      expect.objectContaining({
        code: "policy_denied",
        details: { rule: expect.stringMatching(/^profile\./) },
      }),
    );
  }
});
