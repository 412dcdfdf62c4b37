import { type CreateKeyBody, guardedNetworkSchema, type NetworkRule } from "@sandboxer/contract";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { refusal } from "../../test/outcomes.ts";
import { beyond, LISTS } from "../policy/covers.ts";
import { delegate } from "../policy/delegate.ts";
import { defaultNetwork } from "./capabilities.ts";
import { expandNetwork } from "./expand.ts";
import { authorizeNetwork } from "./narrow.ts";
import { usePackageHosts } from "./package-hosts.ts";
import { RULE_SET_NAMES, rulesOfSet, setsOf } from "./rule-sets.ts";

const HOSTS = { npm: ["npm.example.com"], pypi: ["pypi.example.com"], debian: ["deb.example.com"] };
beforeEach(() => usePackageHosts({ ...HOSTS, crates: ["c.example.com"], go: ["go.example.com"] }));
afterEach(() => usePackageHosts({}));

const { openGateway } = openers(onTestFinished);
const network = (said: object) => guardedNetworkSchema.parse({ egress: "guarded", ...said });

it("none is nothing, a name of several sets is each of them, and a rule of one's own is neither", () => {
  const may = (capabilities: string[], said: object) => {
    try {
      return authorizeNetwork([{ capabilities }], network(said)).egress;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  expect(may(["none"], { sets: ["npm"] })).toBe("policy_denied");
  expect(may([], { sets: ["npm"] })).toBe("policy_denied");
  expect(may(["none"], {})).toBe("guarded");
  expect(may(["packages"], { sets: ["npm", "pypi"] })).toBe("guarded");
  expect(may(["packages"], { sets: ["packages"] })).toBe("guarded");
  expect(may(["npm"], { sets: ["packages"] })).toBe("policy_denied");
  expect(may(["packages"], { sets: ["github-read"] })).toBe("policy_denied");
  expect(may(["web-search"], { sets: ["web-search"] })).toBe("guarded");
  expect(may(["packages"], { mode: "audit" })).toBe("policy_denied");
  const npm = { host: "npm.example.com" };
  expect(may(["npm"], { rules: [{ ...npm, access: "read-only" }] })).toBe("guarded");
  expect(may(["npm"], { rules: [{ ...npm, methods: ["GET"] }] })).toBe("guarded");
  for (const wider of [
    ...[npm, { ...npm, access: "read-write" }, { ...npm, methods: ["GET", "PUT"] }],
    ...[
      { ...npm, access: "read-only", ports: [8443] },
      { ...npm, access: "read-only", cidrs: ["10.0.0.0/8"] },
    ],
    ...[
      { ...npm, protocol: "http", access: "read-only" },
      { host: "*.example.com", access: "read-only" },
    ],
  ]) {
    expect(may(["npm"], { rules: [wider] }), JSON.stringify(wider)).toBe("policy_denied");
  }
});

it("a rule taken out of a set brings that set's denials along", () => {
  const rules = [{ host: "github.com", methods: ["GET"] }];
  const allowed = authorizeNetwork([{ capabilities: ["code"] }], network({ rules }));
  const denials = allowed.egress === "guarded" ? allowed.rules.filter(({ effect }) => effect === "deny") : [];
  expect(denials).toMatchObject([{ host: "github.com", query: { service: "git-receive-pack" } }]);
});

it("is what a sandbox has where nobody says anything of its network", () => {
  expect(defaultNetwork([{}])).toBeUndefined();
  expect(defaultNetwork([{ capabilities: ["none"] }])).toBeUndefined();
  expect(defaultNetwork([{ capabilities: ["packages", "code"] }, { capabilities: ["npm"] }])).toMatchObject({
    egress: "guarded",
    mode: "enforce",
    sets: ["npm"],
  });
});

it("is given with a key, narrowed by the next, and refused where it means nothing", async () => {
  const { core, principal } = await openGateway();
  const child = async (body: CreateKeyBody, parent = principal) =>
    core.authenticate((await core.createKey(parent, body)).apiKey);
  const one = await child({ capabilities: ["packages"] });
  const two = await child({ capabilities: ["npm"] }, one);
  expect(await core.whoami(two)).toMatchObject({ rights: { capabilities: ["npm"] } });
  await refusal(core.createKey(two, { capabilities: ["packages"] }), "policy_denied");
  await refusal(core.createKey(one, { capabilities: ["web-search"] }), "policy_denied");
  await refusal(core.createKey(principal, { capabilities: ["pakages"] }), "invalid_request");
});

/** Said in another way than the rules say it. */
function lets({ host, access, methods, paths, protocol, ports }: NetworkRule, call: Call): boolean {
  const port = protocol === "http" ? 80 : 443;
  const reading = ["GET", "HEAD", "OPTIONS"].includes(call.method);
  if (host !== call.host || call.protocol !== protocol || !(ports ?? [port]).includes(call.port))
    return false;
  if ((access === "read-only" && !reading) || (methods && !methods.includes(call.method))) return false;
  return paths?.some((path) => path.replaceAll("*", "") === call.path.replaceAll("*", "")) ?? true;
}

interface Call {
  readonly host: string;
  readonly protocol: string;
  readonly port: number;
  readonly method: string;
  readonly path: string;
}

it("AZ-2 a child never gets more than its parent, whatever either asks for", () => {
  const names = fc.array(fc.constantFrom(...RULE_SET_NAMES), { minLength: 1, maxLength: 3 });
  const setsIn = (some: readonly string[]) => some.flatMap((name) => setsOf(name) ?? []);
  const mostlyOf = (some: readonly string[]) =>
    fc.oneof({ weight: 4, arbitrary: fc.subarray(setsIn(some)) }, { weight: 1, arbitrary: names });
  const change = fc.constantFrom<Partial<NetworkRule>>(
    ...[{}, {}, {}, { methods: ["POST"] }, { access: "read-write" as const }, { ports: [443, 8443] }],
    ...[{ paths: ["/**"] }, { methods: ["GET"] }, { protocol: "http" as const }],
  );
  const rulesOf = (sets: readonly string[]) =>
    fc
      .tuple(fc.constantFrom(...[...sets, "anthropic"].flatMap(rulesOfSet)), change)
      .map(([one, other]): NetworkRule => ({ ...one, ...other, effect: "allow", id: "own" }));
  const cases = names.chain((parent) =>
    mostlyOf(parent).chain((child) =>
      fc.record({
        parent: fc.constant(parent),
        child: fc.constant(child),
        wish: fc.record({
          sets: mostlyOf(child),
          rules: fc.array(rulesOf(setsIn(child)), { maxLength: 2 }),
        }),
      }),
    ),
  );
  let granted = 0;
  fc.assert(
    fc.property(cases, ({ parent, child, wish }) => {
      const root = { id: "p", orgId: "o", keyId: "k", lineage: ["p"] };
      try {
        delegate({ ...root, chain: [{ capabilities: parent }] }, { capabilities: child }, 0);
      } catch {
        expect(beyond(LISTS.capabilities, parent, child)).not.toEqual([]);
        return;
      }
      const chain = [{ capabilities: parent }, { capabilities: child }];
      let rules: NetworkRule[];
      try {
        const allowed = authorizeNetwork(chain, network(wish));
        rules = allowed.egress === "guarded" ? expandNetwork(allowed).rules : [];
      } catch {
        return;
      }
      granted += rules.length > 0 ? 1 : 0;
      const own = parent.flatMap((name) => (setsOf(name) ?? []).flatMap(rulesOfSet));
      expect(() => authorizeNetwork(chain.slice(0, 1), network(wish))).not.toThrow();
      for (const one of rules.filter(({ effect }) => effect !== "deny")) {
        for (const call of callsOf(one)) {
          const isTheirs = own.some((rule) => rule.effect === "allow" && lets(rule, call));
          if (lets(one, call)) expect(isTheirs, JSON.stringify([one, call])).toBe(true);
        }
      }
    }),
    { numRuns: 1_000 },
  );
  expect(granted, "control: something was granted").toBeGreaterThan(50);
});

/** Calls at the edges of a rule: what it allows, and what it does not quite. */
function callsOf({ host, paths = ["/x"] }: NetworkRule): Call[] {
  return ["GET", "POST", "PUT"].flatMap((method) =>
    ["http", "https"].flatMap((protocol) =>
      [80, 443, 8443].flatMap((port) => paths.map((path) => ({ host, protocol, port, method, path }))),
    ),
  );
}
