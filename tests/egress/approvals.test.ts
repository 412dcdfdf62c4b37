import { setTimeout as sleep } from "node:timers/promises";
import type { Approval } from "@sandboxer/contract";
import { type Client, createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, curl, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 120_000 });

const ASKED = { host: "asked.test", effect: "ask" as const };
const READ = { host: "read.test", effect: "ask" as const, methods: ["POST"], paths: ["/v1/**"] };

describe("connections that wait for somebody's word", () => {
  let bench: Bench;
  let agent: { client: Client; keyId: string };
  let sandbox: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of ["asked.test", "read.test", "other.test", "evil.test"])
      await bench.lab.name(name, [WORLD]);
    agent = await keyOf({ kind: "agent" });
    sandbox = await agent.client.sandboxes.create({
      network: { egress: "guarded", rules: [ASKED, READ, { host: "read.test", access: "read-only" }] },
    });
    const { ca } = await bench.lab.look();
    await sandbox.files.write("/home/user/lab.pem", [new TextEncoder().encode(ca)]);
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  async function keyOf(body: Parameters<Client["keys"]["create"]>[0]) {
    const { apiKey, key } = await bench.client.keys.create(body);
    return {
      client: createClient({ url: "http://localhost", apiKey, fetch: bench.gateway.fetch }),
      keyId: key.id,
    };
  }
  const requests = async () => (await bench.lab.look()).records.filter(({ kind }) => kind === "request");
  const pending = async (count = 1): Promise<Approval[]> => {
    for (const end = Date.now() + 30_000; Date.now() < end; await sleep(50)) {
      const found = await bench.client.approvals.list({ state: "pending" });
      if (found.length >= count) return found.toReversed();
    }
    throw new Error("nobody asked");
  };
  const ask = async (url: string, ...more: string[]) => text((await curl(sandbox, ...more, url)).stdout);
  const post = (path: string) =>
    text_(sandbox.run(["curl", "-s", "--max-time", "60", "-d", "x", `https://read.test${path}`]));
  const text_ = async (run: ReturnType<Sandbox["run"]>) => text((await run).stdout);

  it("reach nobody before a yes, go on with it, and need another the next time", async () => {
    const first = ask("https://asked.test/");
    const [question] = await pending();
    expect(question).toMatchObject({
      sandboxId: sandbox.id,
      state: "pending",
      action: { kind: "connection", host: "asked.test", port: 443, protocol: "https" },
    });
    const { records } = await bench.lab.look();
    expect(records, "not even its name was asked for").toEqual([]);
    expect(await bench.client.approvals.approve(question?.id ?? "")).toMatchObject({
      state: "used",
      scope: "once",
    });
    expect(await first).toBe("hello from asked.test\n");
    const second = ask("https://asked.test/");
    const [again] = await pending();
    expect(again?.id).not.toBe(question?.id);
    await bench.client.approvals.deny(again?.id ?? "");
    expect(await second).toBe("");
    expect((await requests()).map(({ what }) => what)).toEqual(["GET /"]);
    await expect(bench.client.approvals.approve(question?.id ?? "")).rejects.toMatchObject({
      code: "invalid_state",
    });
    await expect(bench.client.approvals.approve(again?.id ?? "")).rejects.toMatchObject({
      code: "invalid_state",
    });
  });

  it("are asked about request by request where requests are read", async () => {
    const posted = post("/v1/messages?x=1");
    const [question] = await pending();
    expect(question?.action).toMatchObject({
      kind: "request",
      method: "POST",
      path: "/v1/messages",
      query: "x=1",
    });
    await bench.client.approvals.approve(question?.id ?? "");
    expect(await posted).toBe("hello from read.test\n");
    const refused = post("/v1/other");
    const [other] = await pending();
    await bench.client.approvals.deny(other?.id ?? "");
    expect(await refused).toContain("nobody allowed it");
    expect(await post("/v2"), "no rule speaks of it").toContain("no rule allows POST");
    expect((await requests()).map(({ what }) => what)).toEqual(["POST /v1/messages?x=1"]);
  });

  it("are not decided by whoever asks, nor by a key that it derived, nor by a stranger", async () => {
    const waiting = ask("https://asked.test/");
    const [question] = await pending();
    const id = question?.id ?? "";
    const child = await agent.client.keys.create({ kind: "user" });
    const below = createClient({ url: "http://localhost", apiKey: child.apiKey, fetch: bench.gateway.fetch });
    await expect(agent.client.approvals.approve(id)).rejects.toMatchObject({ code: "policy_denied" });
    await expect(below.approvals.approve(id)).rejects.toMatchObject({
      code: expect.stringMatching(/policy_denied|not_found/),
    });
    const operator = await keyOf({ role: "operator" });
    await expect(operator.client.approvals.approve(id)).rejects.toMatchObject({ code: "policy_denied" });
    const sibling = await keyOf({ kind: "user" });
    await expect(sibling.client.approvals.approve(id)).rejects.toMatchObject({ code: "not_found" });
    const narrow = await keyOf({ kind: "user", network: ["other.test"] });
    await expect(narrow.client.approvals.approve(id)).rejects.toMatchObject({ code: "not_found" });
    expect(await requests()).toEqual([]);
    await bench.client.approvals.approve(id);
    expect(await waiting).toBe("hello from asked.test\n");
  });

  it("end with the program that asked", async () => {
    const left = await sandbox.exec({ argv: ["curl", "-s", "https://asked.test/"] });
    const [question] = await pending();
    await left.signal("KILL");
    for await (const _ of left.events);
    const state = async () => (await bench.client.approvals.get(question?.id ?? "")).state;
    await expect.poll(state, { timeout: 30_000 }).toBe("withdrawn");
    await expect(bench.client.approvals.approve(question?.id ?? "")).rejects.toMatchObject({
      code: "invalid_state",
    });
    expect((await bench.lab.look()).records).toEqual([]);
  });

  it("a yes for the sandbox becomes a rule of it, as narrow as what was asked", async () => {
    const posted = post("/v1/messages?model=m&beta=1");
    const [question] = await pending();
    await bench.client.approvals.approve(question?.id ?? "", "sandbox");
    await posted;
    expect(await post("/v1/messages?model=m&beta=1")).toBe("hello from read.test\n");
    const { spec } = await sandbox.refresh();
    expect(spec.network).toMatchObject({
      rules: [
        {},
        {},
        {},
        {
          ...{ host: "read.test", methods: ["POST"], paths: ["/v1/messages"] },
          ...{ query: { model: "m", beta: "1" }, id: `approved/${question?.id}` },
        },
      ],
    });
    for (const [path, query] of [
      ["/v1/other", undefined],
      ["/v1/messages", "model=other&beta=1"],
    ] as const) {
      const other = post(query ? `${path}?${query}` : path);
      const [next] = await pending();
      expect(next?.action).toMatchObject({ path, ...(query && { query }) });
      await bench.client.approvals.deny(next?.id ?? "");
      expect(await other).toContain("nobody allowed it");
    }
    const events = (await bench.client.events.list({ limit: 1_000 })).map(({ type }) => type);
    for (const type of ["approval.requested", "approval.approved", "approval.denied", "approval.withdrawn"]) {
      expect(events).toContain(type);
    }
  });

  it("the mode `ask` asks about whatever no rule speaks of; a person decides for a program of its own", async () => {
    const own = await bench.sandbox({ mode: "ask", rules: [{ host: "evil.test", effect: "deny" }] });
    const first = curl(own, "https://other.test/");
    const [question] = await pending();
    await bench.client.approvals.approve(question?.id ?? "", "sandbox");
    expect(text((await first).stdout)).toBe("hello from other.test\n");
    expect(text((await curl(own, "https://other.test/")).stdout)).toBe("hello from other.test\n");
    expect(
      (await curl(own, "https://evil.test/")).exit,
      "a rule that denies is not asked about",
    ).not.toMatchObject({ code: 0 });
    const plain = own.run(["curl", "-s", "--max-time", "60", "http://other.test/plain"]);
    const [next] = await pending();
    expect(next?.action).toMatchObject({ kind: "request", method: "GET", path: "/plain", protocol: "http" });
    await bench.client.approvals.approve(next?.id ?? "");
    expect(text((await plain).stdout)).toBe("hello from other.test\n");
  });

  it("EG-20 with the guard gone nobody waits any more, and nothing got out", async () => {
    const waiting = curl(sandbox, "https://asked.test/").catch(() => {});
    const [question] = await pending();
    await bench.gateway.close();
    await waiting;
    const client = await bench.reopen();
    expect((await bench.lab.look()).records).toEqual([]);
    expect((await client.approvals.get(question?.id ?? "")).state).not.toBe("used");
    await (await client.sandboxes.get(sandbox.id)).destroy();
  });
});
