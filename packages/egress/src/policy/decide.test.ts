import { canonicalHost, guardedNetworkSchema, type NetworkRule } from "@sandboxer/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compile } from "./compile.ts";
import { decideConnection, decideRequest } from "./decide.ts";

type Rule = Partial<NetworkRule> & { host: string };

const policyOf = (rules: Rule[], mode: "enforce" | "audit" = "enforce") =>
  compile(guardedNetworkSchema.parse({ egress: "guarded", mode, rules }));
const verdict = (rules: Rule[], host: string, port = 443) =>
  decideConnection(policyOf(rules), { host, port }).verdict;
const request = (
  rules: Rule[],
  method: string,
  path: string,
  query = "",
  scheme: "http" | "https" = "https",
) => decideRequest(policyOf(rules), { scheme, host: "a.test", port: 443, method, path, query }).verdict;

describe("where a sandbox may go", () => {
  it("EG-1 is nowhere, without a rule", () => {
    fc.assert(
      fc.property(fc.domain(), fc.integer({ min: 1, max: 65_535 }), (host, port) => {
        expect(verdict([], host, port)).toBe("denied");
      }),
    );
  });

  it("EG-8 is exactly what a rule names", () => {
    const rules = [{ host: "api.example.com" }];
    expect(verdict(rules, "api.example.com")).toBe("allowed");
    for (const twin of [
      [
        "xapi.example.com",
        "api.example.com.evil.test",
        "a.api.example.com",
        "example.com",
        "apixexample.com",
      ],
      ["api.example.co", "api-example.com", "api_example.com", "api.example.comm"],
    ].flat()) {
      expect(verdict(rules, twin)).toBe("denied");
    }
    expect(verdict(rules, "api.example.com", 8443)).toBe("denied");
  });

  it("EG-8 one star is one label, two are any depth, and neither is the apex", () => {
    const [one, any] = [[{ host: "*.x.test" }], [{ host: "**.x.test" }]];
    expect([verdict(one, "a.x.test"), verdict(one, "b.a.x.test"), verdict(one, "x.test")]).toEqual([
      "allowed",
      "denied",
      "denied",
    ]);
    expect([verdict(any, "a.x.test"), verdict(any, "b.a.x.test"), verdict(any, "x.test")]).toEqual([
      "allowed",
      "allowed",
      "denied",
    ]);
  });

  it("EG-8 whatever is asked, what is allowed is a host that a rule means, by its own spelling", () => {
    const policy = policyOf([{ host: "api.example.com" }, { host: "*.x.test" }, { host: "**.y.test" }]);
    const parts = fc.constantFrom(
      "api",
      "example",
      "com",
      "x",
      "y",
      "test",
      "a",
      "API",
      ".",
      "..",
      "-",
      "@",
      "%2e",
    );
    const spelling = fc.array(parts, { maxLength: 8 }).map((some) => some.join(""));
    fc.assert(
      fc.property(
        fc.oneof(
          spelling,
          spelling.map((some) => some.replaceAll(/(?<=\w)(?=[a-z])/g, "")),
        ),
        (asked) => {
          const host = canonicalHost(asked);
          if (!host || decideConnection(policy, { host: host.text, port: 443 }).verdict === "denied") return;
          const isMeant =
            host.text === "api.example.com" ||
            /^[a-z0-9_-]+\.x\.test$/.test(host.text) ||
            /^[a-z0-9_.-]+\.y\.test$/.test(host.text);
          expect(isMeant).toBe(true);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("a rule that denies wins, in whatever order", () => {
    const rules: Rule[] = [{ host: "**.x.test" }, { host: "bad.x.test", effect: "deny" }];
    for (const order of [rules, rules.toReversed()]) {
      expect(verdict(order, "bad.x.test")).toBe("denied");
      expect(verdict(order, "good.x.test")).toBe("allowed");
    }
  });

  it("a rule that denies some requests wins over one that carries them unread", () => {
    const some: Rule = { host: "a.test", effect: "deny", paths: ["/admin/**"] };
    const raw: Rule = { host: "a.test", protocol: "tcp", ports: [443] };
    expect(verdict([raw], "a.test"), "control").toBe("allowed");
    expect(verdict([raw, some], "a.test")).toBe("denied");
    expect(verdict([{ host: "a.test" }, some], "a.test"), "where it can be read, it is").toBe("allowed");
  });

  it("audit lets through what no rule allows, and still nothing that one denies", () => {
    const policy = policyOf([{ host: "bad.test", effect: "deny" }], "audit");
    expect(decideConnection(policy, { host: "new.test", port: 443 })).toMatchObject({
      verdict: "audited",
      carriage: "tls",
    });
    expect(decideConnection(policy, { host: "bad.test", port: 443 }).verdict).toBe("denied");
  });

  it("looks as closely as the closest of the rules asks", () => {
    const carriage = (...rules: Rule[]) => {
      const decision = decideConnection(policyOf(rules), {
        host: "a.test",
        port: rules[0]?.ports?.[0] ?? 443,
      });
      return decision.verdict === "denied" ? "denied" : decision.carriage;
    };
    expect(carriage({ host: "a.test" })).toBe("tls");
    expect(carriage({ host: "a.test" }, { host: "a.test", paths: ["/x"] })).toBe("inspected-tls");
    expect(carriage({ host: "a.test" }, { host: "a.test", effect: "deny", methods: ["PUT"] })).toBe(
      "inspected-tls",
    );
    expect(carriage({ host: "a.test", ports: [22], protocol: "tcp" })).toBe("tcp");
    expect(carriage({ host: "a.test", ports: [80], protocol: "http" })).toBe("inspected-http");
  });
});

describe("what a sandbox may ask there", () => {
  it("is by method, path and query", () => {
    const rules: Rule[] = [
      { host: "a.test", methods: ["GET"], paths: ["/v1/*", "/files/**"] },
      { host: "a.test", methods: ["POST"], paths: ["/git"], query: { service: "upload" } },
    ];
    expect(request(rules, "GET", "/v1/x")).toBe("allowed");
    expect(request(rules, "GET", "/files/a/b")).toBe("allowed");
    expect(request(rules, "GET", "/v1/x/y")).toBe("denied");
    expect(request(rules, "POST", "/v1/x")).toBe("denied");
    expect(request(rules, "POST", "/git", "service=upload")).toBe("allowed");
    expect(request(rules, "POST", "/git", "service=upload&service=push")).toBe("denied");
    expect(request(rules, "POST", "/git")).toBe("denied");
  });

  it("EG-9 is through TLS where the rule says so, and in the clear where the rule says that", () => {
    const tls: Rule = { host: "a.test" };
    const clear: Rule = { host: "a.test", protocol: "http", ports: [443] };
    expect([request([tls], "GET", "/"), request([tls], "GET", "/", "", "http")]).toEqual([
      "allowed",
      "denied",
    ]);
    expect([request([clear], "GET", "/"), request([clear], "GET", "/", "", "http")]).toEqual([
      "denied",
      "allowed",
    ]);
    for (const protocol of ["https", "http", "tcp"] as const) {
      const denial: Rule = { host: "a.test", protocol, ports: [443], effect: "deny" };
      expect(request([tls, clear, denial], "GET", "/"), protocol).toBe("denied");
      expect(request([tls, clear, denial], "GET", "/", "", "http"), protocol).toBe("denied");
    }
  });

  it("EG-12 a path with an escaped slash is allowed where both its readings are, and denied where one is", () => {
    const rules = (...paths: string[]): Rule[] => [{ host: "a.test", paths }];
    expect(request(rules("/**"), "GET", "/@scope%2Fname")).toBe("allowed");
    expect(request(rules("/@scope/**"), "GET", "/@scope%2Fname"), "as one segment it is none of those").toBe(
      "denied",
    );
    expect(request(rules("/*"), "GET", "/@scope%2Fname"), "as two it is not one").toBe("denied");
    expect(request(rules("/@scope%2fname"), "GET", "/@scope%2Fname"), "written so, both are meant").toBe(
      "allowed",
    );
    for (const path of ["/admin/**", "/admin%2Fx"]) {
      const denial: Rule = { host: "a.test", effect: "deny", paths: [path] };
      expect(request([{ host: "a.test" }, denial], "GET", "/admin%2Fx"), path).toBe("denied");
      expect(request([{ host: "a.test" }, denial], "GET", "/user%2Fx"), "control").toBe("allowed");
    }
  });

  it("a query that says a name twice is enough to be denied, and not to be allowed", () => {
    const rules: Rule[] = [
      { host: "a.test" },
      { host: "a.test", effect: "deny", query: { service: "push" } },
    ];
    expect(request(rules, "GET", "/git", "service=fetch")).toBe("allowed");
    for (const query of ["service=push", "service=push&service=fetch", "service=fetch&service=pus%68"]) {
      expect(request(rules, "GET", "/git", query), query).toBe("denied");
    }
  });

  it("reading only takes no method that writes", () => {
    const rules: Rule[] = [{ host: "a.test", access: "read-only" }];
    for (const method of ["GET", "HEAD", "OPTIONS"]) expect(request(rules, method, "/")).toBe("allowed");
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "TRACE", "X"]) {
      expect(request(rules, method, "/")).toBe("denied");
    }
  });

  it("a rule for programs is for those, for nobody who cannot be seen, and denies those as well", () => {
    const rules: Rule[] = [{ host: "a.test", binaries: ["/usr/bin/git", "/usr/lib/git-core/*"] }];
    const asked = (binary: string | undefined, more: Rule[] = []) =>
      decideConnection(policyOf([...rules, ...more]), { host: "a.test", port: 443, binary });
    expect(asked("/usr/bin/git").verdict).toBe("allowed");
    expect(asked("/usr/lib/git-core/git-remote-http").verdict).toBe("allowed");
    for (const other of ["/usr/bin/git2", "/home/usr/bin/git", "/usr/lib/git-core/a/b", "/usr/bin/curl"]) {
      expect(asked(other), other).toMatchObject({
        verdict: "denied",
        reason: `no rule allows a.test:443 for ${other}`,
      });
    }
    const unseen = "no rule allows a.test:443, as the program that asks cannot be seen";
    expect(asked(undefined)).toMatchObject({ verdict: "denied", reason: unseen });
    const denial: Rule = { host: "a.test", effect: "deny", binaries: ["/usr/bin/curl"] };
    const all: Rule = { host: "a.test" };
    expect(asked("/usr/bin/curl", [all, denial]).verdict).toBe("denied");
    expect(asked(undefined, [all, denial]).verdict).toBe("denied");
    expect(asked("/usr/bin/wget", [all, denial]).verdict).toBe("allowed");
  });
});
