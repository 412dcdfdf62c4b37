import { type Client, createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 120_000 });

describe("more for a while", () => {
  let bench: Bench;
  let agent: Client;
  let sandbox: Sandbox;
  beforeAll(async () => {
    bench = await openBench({}, { askPatienceMs: 1_000 });
    for (const name of ["more.test", "raw.test"]) await bench.lab.name(name, [WORLD]);
    await bench.client.profiles.publish({ schema: 1, name: "closed", network: { egress: "guarded" } });
    const { apiKey } = await bench.client.keys.create({ kind: "agent", profiles: ["closed"] });
    agent = createClient({ url: "http://localhost", apiKey, fetch: bench.gateway.fetch });
    sandbox = await agent.sandboxes.create({ profile: "closed" });
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const MORE = { host: "more.test", protocol: "http" as const };
  const RAW = { host: "raw.test", protocol: "tcp" as const, ports: [7000] };
  const reaches = async (one = sandbox) =>
    text((await one.run(["curl", "-s", "--max-time", "20", "http://more.test/"])).stdout) ===
    "hello from more.test\n";
  const elevate = (durationMs: number) =>
    sandbox.elevate({ rules: [MORE, RAW], durationMs, reason: "a fixture" });

  it("is opened by somebody else's word, and closes by itself, with what came by it", async () => {
    await expect(sandbox.changeNetwork({ egress: "guarded", rules: [MORE] })).rejects.toMatchObject({
      code: "policy_denied",
    });
    const { id, action } = await elevate(15_000);
    expect(action).toMatchObject({ kind: "elevation", reason: "a fixture" });
    expect(await reaches(), "asking opens nothing").toBe(false);
    await expect(agent.approvals.approve(id)).rejects.toMatchObject({ code: "policy_denied" });
    expect(await reaches()).toBe(false);
    await bench.client.approvals.approve(id);
    expect(await reaches()).toBe(true);
    const line = "exec 3<>/dev/tcp/raw.test/7000; echo up >&3; head -1 <&3; cat <&3; echo closed";
    const tunnel = await sandbox.run(["bash", "-c", line], { timeoutMs: 100_000 });
    expect(text(tunnel.stdout)).toBe("up\nclosed\n");
    expect(await reaches()).toBe(false);
    expect((await sandbox.refresh()).spec.network, "it never was a rule of the sandbox").toMatchObject({
      rules: [],
    });
    const told = async () => {
      const events = await bench.client.events.list({ limit: 500 });
      return events.map(({ type }) => type).filter((type) => type.startsWith("elevation."));
    };
    await expect.poll(told).toEqual(["elevation.started", "elevation.ended"]);
  });

  it("can be taken back at once, and is nobody else's", async () => {
    const { id } = await elevate(600_000);
    await bench.client.approvals.approve(id);
    const other = await agent.sandboxes.create({ profile: "closed" });
    expect([await reaches(), await reaches(other)]).toEqual([true, false]);
    const seen = await bench.client.sandboxes.get(sandbox.id);
    const [copy] = (await seen.fork()) as [Sandbox];
    expect(await reaches(copy), "not even of a copy").toBe(false);
    await copy.destroy();
    await sandbox.endElevations();
    expect(await reaches()).toBe(false);
  });

  it("gives no more than whoever approves has", async () => {
    const { apiKey } = await bench.client.keys.create({ kind: "user", network: ["other.test"] });
    const narrow = createClient({ url: "http://localhost", apiKey, fetch: bench.gateway.fetch });
    const visible = await agent.sandboxes.create({ profile: "closed", visibility: "org" });
    const { id } = await visible.elevate({ rules: [MORE], durationMs: 60_000, reason: "x" });
    await expect(narrow.approvals.approve(id)).rejects.toMatchObject({ code: "policy_denied" });
    expect((await narrow.approvals.deny(id)).state, "but may say no").toBe("denied");
    expect(await reaches(visible)).toBe(false);
  });

  it("a question that nobody answers is a no", async () => {
    const asking = await bench.sandbox({ mode: "ask" });
    const { stdout } = await asking.run(["curl", "-s", "--max-time", "50", "http://more.test/"]);
    expect(text(stdout)).toContain("nobody allowed it");
    const [question] = await bench.client.approvals.list({ state: "expired" });
    expect(question).toMatchObject({ sandboxId: asking.id });
    await expect(bench.client.approvals.approve(question?.id ?? "")).rejects.toMatchObject({
      code: "invalid_state",
    });
    expect((await bench.lab.look()).records).toEqual([]);
  });

  it("holds over a restart of the gateway, until its time", async () => {
    const { id } = await elevate(30_000);
    await bench.client.approvals.approve(id);
    expect(await reaches()).toBe(true);
    await bench.gateway.close();
    const client = await bench.reopen();
    const again = await client.sandboxes.get(sandbox.id);
    expect(await reaches(again)).toBe(true);
    await expect.poll(() => reaches(again), { timeout: 90_000, interval: 500 }).toBe(false);
  });
});
