import { createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 90_000 });

describe("what a key is capable of, on the wire", () => {
  let bench: Bench;
  beforeAll(async () => {
    const packageHosts = { npm: ["npm.test"], pypi: ["pypi.test"] };
    bench = await openBench({}, { config: { packageHosts } });
    for (const name of ["npm.test", "pypi.test", "other.test"]) await bench.lab.name(name, [WORLD]);
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const clientOf = (apiKey: string) =>
    createClient({ url: "http://localhost", apiKey, fetch: bench.gateway.fetch });
  const asked = async (sandbox: Sandbox, ...args: string[]) => {
    const line = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "30", ...args];
    return text((await sandbox.run(line, { timeoutMs: 60_000 })).stdout);
  };
  const requests = async () =>
    (await bench.lab.look()).records.flatMap(({ kind, what }) => (kind === "request" ? [what] : []));

  it("is what its sandboxes reach where nobody says anything of the network, and no more", async () => {
    const { apiKey } = await bench.client.keys.create({ kind: "agent", capabilities: ["npm", "pypi"] });
    const sandbox = await clientOf(apiKey).sandboxes.create({});
    expect(await asked(sandbox, "https://npm.test/a")).toBe("200");
    expect(await asked(sandbox, "https://pypi.test/b")).toBe("200");
    expect(await asked(sandbox, "-d", "x", "https://npm.test/publish"), "reading only").toBe("403");
    expect(await asked(sandbox, "https://other.test/c")).toBe("403");
    expect(await requests()).toEqual(["GET /a", "GET /b"]);
  });

  it("is less for a key derived from it, and nothing for one that has none", async () => {
    const parent = clientOf((await bench.client.keys.create({ capabilities: ["npm", "pypi"] })).apiKey);
    const child = clientOf((await parent.keys.create({ capabilities: ["npm"] })).apiKey);
    const sandbox = await child.sandboxes.create({});
    expect(await asked(sandbox, "https://npm.test/a")).toBe("200");
    expect(await asked(sandbox, "https://pypi.test/b")).toBe("403");
    const wider = { egress: "guarded" as const, rules: [{ host: "pypi.test" }] };
    const denied = { code: "policy_denied", details: { rule: "capabilities" } };
    await expect(child.sandboxes.create({ network: wider })).rejects.toMatchObject(denied);
    await expect(sandbox.changeNetwork(wider)).rejects.toMatchObject(denied);
    await expect(sandbox.changeNetwork({ egress: "guarded", mode: "audit" })).rejects.toMatchObject(denied);
    await expect(child.keys.create({ capabilities: ["pypi"] })).rejects.toMatchObject({
      code: "policy_denied",
    });
    const none = clientOf((await parent.keys.create({ capabilities: ["none"] })).apiKey);
    const closed = await none.sandboxes.create({});
    expect(closed.info.spec.network).toEqual({ egress: "deny" });
    expect(await asked(closed, "https://npm.test/a")).toBe("000");
    expect(await requests()).toEqual(["GET /a"]);
  });
});
