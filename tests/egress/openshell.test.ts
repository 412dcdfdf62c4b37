import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { cliOf } from "../e2e/cli-process.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 120_000 });

/** As such policies are written, and the same as data. */
const WRITTEN = `
version: 1
filesystem_policy: {read_only: [/usr]}
network_policies:
  api:
    name: api
    endpoints:
      - host: api.test
        port: 443
        protocol: rest
        enforcement: enforce
        rules: [{allow: {method: GET, path: /v1/**}}]
      - {host: queries.test, port: 443, protocol: graphql, access: full}
    binaries: [{path: /usr/bin/curl}]
`;
const curl = [{ path: "/usr/bin/curl" }];
const rest = { host: "api.test", port: 443, protocol: "rest", enforcement: "enforce" };
const endpoints = [
  { ...rest, rules: [{ allow: { method: "GET", path: "/v1/**" } }] },
  { host: "queries.test", port: 443, protocol: "graphql", access: "full" },
];
const POLICY = {
  version: 1,
  filesystem_policy: { read_only: ["/usr"] },
  network_policies: { api: { name: "api", endpoints, binaries: curl } },
};
const FINDINGS = [
  { where: "filesystem_policy", what: "unenforced" },
  { where: "network_policies.api.endpoints[1]", what: "narrowed" },
];

describe("a policy of OpenShell's", () => {
  let bench: Bench;
  let home: string;
  let sandbox: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    home = await mkdtemp(join(tmpdir(), "sandboxer-openshell-"));
    await writeFile(join(home, "policy.yaml"), WRITTEN);
    for (const name of ["api.test", "queries.test", "other.test"]) await bench.lab.name(name, [WORLD]);
  });
  afterAll(async () => {
    await bench.close();
    await rm(home, { recursive: true, force: true });
  });
  beforeEach(() => bench.lab.clear());

  const said = async (line: string) =>
    text((await sandbox.run(["sh", "-c", line], { timeoutMs: 60_000 })).stdout);
  const requests = async () =>
    (await bench.lab.look()).records.flatMap(({ kind, what }) => (kind === "request" ? [what] : []));

  it("becomes a profile by REST, with a word on each clause that it is not", async () => {
    const { profile, findings } = await bench.client.profiles.importOpenShell(POLICY, "imported");
    expect(findings).toMatchObject(FINDINGS);
    for (const { why } of findings) expect(why).not.toBe("");
    expect(await bench.client.profiles.list(), "publishes nothing").not.toContainEqual(
      expect.objectContaining({ name: "imported" }),
    );
    await bench.client.profiles.publish(profile);
    sandbox = await bench.client.sandboxes.create({ profile: "imported" });
    for (const policy of [{}, { version: 2 }, { version: 1, something: {} }]) {
      const refused = bench.client.profiles.importOpenShell(policy);
      await expect(refused).rejects.toMatchObject({ code: "invalid_request" });
    }
  });

  it("is held to by the sandboxes of that profile: this program, this host, this method and path", async () => {
    const get = "curl -s --max-time 20";
    expect(await said(`${get} https://api.test/v1/x`)).toBe("hello from api.test\n");
    expect(await said(`${get} https://api.test/v2/x`)).toContain("no rule allows GET api.test:443/v2/x");
    expect(await said(`${get} -d x https://api.test/v1/x`)).toContain("no rule allows POST");
    expect(await said(`${get} https://other.test/v1/x`)).toContain("no rule allows other.test:443");
    expect(await said(`${get} https://queries.test/`)).toContain("no rule allows queries.test:443");
    expect(await said(`cp $(command -v curl) mine; ./mine -s https://api.test/v1/y`)).toContain(
      "policy_denied",
    );
    expect(await requests()).toEqual(["GET /v1/x"]);
  });

  it("is the same by the command line, which fails where it is asked to be strict", async () => {
    const cli = cliOf(home);
    const file = join(home, "policy.yaml");
    const asked = ["profiles", "import-openshell", file];
    const { stdout } = await cli.run([...asked, "--name", "imported", "--json"]);
    const byRest = await bench.client.profiles.importOpenShell(POLICY, "imported");
    expect(JSON.parse(stdout)).toEqual(byRest);
    const shown = await cli.run(asked);
    expect(shown.code).toBe(0);
    expect(shown.stdout.match(/^# (?:unenforced|narrowed): .*$/gm)).toHaveLength(FINDINGS.length);
    expect(shown.stdout).toMatch(/^schema: 1\nname: openshell$/m);
    await writeFile(join(home, "profile.yaml"), shown.stdout);
    expect((await cli.run(["profiles", "publish", join(home, "profile.yaml")])).stdout).toBe("openshell@1\n");
    expect((await cli.run([...asked, "--strict"])).code).toBe(1);
    const whole = WRITTEN.replace(/^filesystem_policy.*\n/m, "").replace(/^.*graphql.*\n/m, "");
    await writeFile(file, whole);
    expect((await cli.run([...asked, "--strict"])).code, "control: nothing is left out").toBe(0);
  });
});
