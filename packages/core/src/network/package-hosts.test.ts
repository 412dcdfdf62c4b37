import { guardedNetworkSchema } from "@sandboxer/contract";
import { afterEach, expect, it } from "vitest";
import { expandNetwork } from "./expand.ts";
import { usePackageHosts } from "./package-hosts.ts";

afterEach(() => usePackageHosts({}));

const expanded = (...sets: string[]) =>
  expandNetwork(guardedNetworkSchema.parse({ egress: "guarded", sets })).rules.map(
    ({ host, protocol, access, effect }) => `${effect} ${access} ${protocol}://${host}`,
  );

it("opens for packages the hosts that the operator named, to read", () => {
  usePackageHosts({ npm: ["npm.example.com"], debian: ["deb.example.com"] });
  expect(expanded("npm")).toEqual(["allow read-only https://npm.example.com"]);
  expect(expanded("debian")).toEqual([
    "allow read-only https://deb.example.com",
    "allow read-only http://deb.example.com",
  ]);
});

it("refuses a set of which nobody has said the hosts, and a capability that has one", () => {
  expect(() => expanded("npm")).toThrow("nobody has said where npm packages come from");
  usePackageHosts({ npm: ["npm.example.com"] });
  expect(() => expanded("packages")).toThrow("nobody has said where pypi packages come from");
});
