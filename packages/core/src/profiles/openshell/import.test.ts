import { type GuardedNetwork, profileSchema } from "@sandboxer/contract";
import { expect, it } from "vitest";
import { importOpenShell } from "./import.ts";

const CURL = [{ path: "/usr/bin/curl" }];
const imported = (endpoints: object[], binaries: object[] = CURL) => {
  const policy = { version: 1, network_policies: { lab: { name: "lab", endpoints, binaries } } };
  const { profile, findings } = importOpenShell(policy, "lab");
  expect(() => profileSchema.parse(profile)).not.toThrow();
  return { rules: (profile.network as GuardedNetwork).rules, findings };
};
const why = (endpoint: object) => imported([endpoint]).findings.map((one) => `${one.what}: ${one.why}`);

it("says the same where it can: hosts, ports, access, rules, denials, addresses and programs", () => {
  const { rules, findings } = imported(
    [
      { host: "api.example.com", port: 443, protocol: "rest", access: "read-only" },
      {
        ...{ host: "*.example.com", port: 443, protocol: "rest", allowed_ips: ["10.1.2.3", "10.2.0.0/16"] },
        rules: [
          { allow: { method: "get", path: "/v1/**", query: { tag: "a" } } },
          { allow: { method: "*" } },
        ],
        deny_rules: [{ method: "POST", path: "/v1/admin/**" }],
      },
      { host: "db.example.com", port: 5432 },
    ],
    [{ path: "/usr/bin/curl" }, { path: "/usr/lib/git-core/*" }],
  );
  const common = { binaries: ["/usr/bin/curl", "/usr/lib/git-core/*"], effect: "allow", protocol: "https" };
  const wide = { ...common, host: "*.example.com", ports: [443] };
  const cidrs = ["10.1.2.3/32", "10.2.0.0/16"];
  expect(rules).toEqual([
    {
      ...common,
      ...{ id: "lab/1.1", host: "api.example.com", ports: [443], methods: ["GET", "HEAD", "OPTIONS"] },
    },
    { ...wide, id: "lab/2.1", methods: ["GET"], paths: ["/v1/**"], query: { tag: "a" }, cidrs },
    { ...wide, id: "lab/2.2", cidrs },
    { ...wide, id: "lab/2.3", effect: "deny", methods: ["POST"], paths: ["/v1/admin/**"] },
    { ...common, id: "lab/3.1", host: "db.example.com", ports: [5432], protocol: "tcp" },
  ]);
  expect(findings).toEqual([]);
});

it("allows less where it cannot say the same, and tells of each", () => {
  const rest = { host: "a.example.com", port: 443, protocol: "rest", access: "full" };
  expect(why({ ...rest, enforcement: "audit" })).toEqual([
    "narrowed: enforced: what is not allowed is not let through",
  ]);
  expect(why({ ...rest, access: "read-write" })).toEqual(["narrowed: read-write is without DELETE"]);
  expect(why({ host: "a.example.com", port: 443 })).toEqual([
    "narrowed: TLS for exactly this name, and nothing else on 443",
  ]);
  expect(why({ ...rest, credential_signing: "sigv4" })[0]).toContain("secrets set --to");
  expect(why({ ...rest, allow_encoded_slash: true })).toEqual(["narrowed: allow_encoded_slash is not here"]);
});

it("leaves out what would be more than it says, and tells of it", () => {
  const rest = { host: "a.example.com", port: 443, protocol: "rest", access: "full" };
  const queries = [{ allow: { method: "GET", path: "/", query: { q: "a*" } } }];
  for (const endpoint of [
    { ...rest, protocol: "graphql" },
    { ...rest, protocol: "mcp" },
    { ...rest, host: "api-*.example.com" },
    { ...rest, host: "*" },
    { ...rest, host: "*.com" },
    { ...rest, port: undefined },
    { ...rest, access: undefined },
    { ...rest, some_new_limit: 3 },
    { ...rest, rules: queries },
    { ...rest, rules: [{ allow: { method: "GET", tool: "x" } }] },
    { ...rest, deny_rules: [{ method: "GET", query: { q: "a*" } }] },
    { ...rest, tls: "skip", access: "read-only" },
    { ...rest, path: "/a/**", rules: [{ allow: { method: "GET", path: "/b/**" } }] },
  ]) {
    const { rules, findings } = imported([endpoint]);
    expect(rules, JSON.stringify(endpoint)).toEqual([]);
    expect(findings.length, JSON.stringify(endpoint)).toBeGreaterThan(0);
  }
  const { rules, findings } = imported([rest], []);
  expect([rules, findings]).toEqual([
    [],
    [{ where: "network_policies.lab", what: "narrowed", why: "left out: it names no program" }],
  ]);
  expect(imported([rest]).rules, "control").toHaveLength(1);
});

it("says what is not enforced at all, and guesses at nothing", () => {
  const { findings } = importOpenShell(
    { version: 1, filesystem_policy: { read_only: ["/usr"] }, landlock: {}, process: { run_as_user: "a" } },
    "lab",
  );
  expect(findings.map(({ where, what }) => `${what} ${where}`)).toEqual([
    "unenforced filesystem_policy",
    "unenforced landlock",
    "unenforced process",
  ]);
  for (const policy of [{}, { version: 2 }, { version: 1, something: {} }, "text", null]) {
    expect(() => importOpenShell(policy, "lab")).toThrow(/./);
  }
});
