import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { PRIVATE, WORLD } from "./lab/lab.ts";
import { type Bench, curl, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 180_000 });

const RULE = { effect: "allow", host: "api.allowed.test", protocol: "https" } as const;

describe("a profile from what an audited run reached", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench();
    await bench.lab.name("api.allowed.test", [WORLD]);
    await bench.lab.name("more.allowed.test", [WORLD]);
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const reach = async (sandbox: Sandbox, host: string) => {
    await expect
      .poll(async () => text((await curl(sandbox, `https://${host}/`)).stdout), { timeout: 30_000 })
      .toBe(`hello from ${host}\n`);
    const calls = async () => (await sandbox.networkCalls()).calls.map((call) => call.host);
    await expect.poll(calls, { timeout: 30_000 }).toContain(host);
  };
  const networkOf = async (id: string) => (await bench.client.profiles.suggest(id)).profile.network;
  const enforced = (...hosts: string[]) => ({
    egress: "guarded",
    mode: "enforce",
    rules: hosts.map((host) => ({ ...RULE, host })),
  });

  it("names what it reached while it runs, after a stop, and after its end", async () => {
    const audited = { audit: true, persistence: "persistent" } as const;
    const sandbox = await bench.sandbox({ mode: "audit" }, audited);
    await reach(sandbox, "api.allowed.test");
    await expect.poll(() => networkOf(sandbox.id)).toMatchObject(enforced("api.allowed.test"));

    await sandbox.stop();
    expect(await networkOf(sandbox.id), "stopped").toMatchObject(enforced("api.allowed.test"));
    await sandbox.start();
    await reach(sandbox, "more.allowed.test");
    const both = enforced("api.allowed.test", "more.allowed.test");
    await expect
      .poll(() => networkOf(sandbox.id), { message: "before the stop and after it" })
      .toMatchObject(both);
    await sandbox.destroy();
    expect(await networkOf(sandbox.id), "over").toMatchObject(both);
  });

  it("publishes as it is, and lets through what the run reached and nothing else", async () => {
    const first = await bench.sandbox({ mode: "audit" }, { audit: true });
    await reach(first, "api.allowed.test");
    await first.destroy();
    const { profile } = await bench.client.profiles.suggest(first.id, "learned");
    await bench.client.profiles.publish(profile);
    const sandbox = await bench.client.sandboxes.create({ profile: "learned" });
    await sandbox.files.write("/home/user/lab.pem", [new TextEncoder().encode((await bench.lab.look()).ca)]);
    await reach(sandbox, "api.allowed.test");
    expect((await curl(sandbox, "https://more.allowed.test/")).exit).not.toEqual({ kind: "exited", code: 0 });
  });

  /** Whatever a run does, in one line each; what came of it. */
  const RUN = [
    "curl -s --cacert lab.pem https://api.allowed.test/",
    "curl -s http://more.allowed.test/get",
    "curl -s -d x http://more.allowed.test/post",
    "bash -c 'exec 3<>/dev/tcp/raw.allowed.test/7000; echo hi >&3; head -1 <&3'",
    "curl -s --proxy http://198.18.0.1:3128 --cacert lab.pem https://proxied.allowed.test/",
    "curl -s --proxy http://198.18.0.1:3128 http://odd.allowed.test:8080/",
  ];
  const outcome = async (sandbox: Sandbox) =>
    text((await sandbox.run(["sh", "-c", RUN.join("; ")], { timeoutMs: 60_000 })).stdout);
  const WHOLE = [
    "hello from api.allowed.test",
    ...["hello from more.allowed.test", "hello from more.allowed.test"],
    ...["hi", "hello from proxied.allowed.test", "hello from odd.allowed.test:8080", ""],
  ].join("\n");

  it("proposes rules that let the same run pass in another sandbox, and no more than it", async () => {
    for (const name of ["raw.allowed.test", "proxied.allowed.test", "odd.allowed.test"])
      await bench.lab.name(name, [WORLD]);
    const learning = await bench.sandbox({ mode: "audit" });
    expect(await outcome(learning)).toBe(WHOLE);
    const hosts = async () => new Set((await learning.networkCalls()).proposed.map(({ host }) => host)).size;
    await expect.poll(hosts, { timeout: 30_000 }).toBe(5);
    const { proposed } = await learning.networkCalls();
    await bench.lab.clear();
    const closed = await bench.sandbox({ rules: [] });
    expect(await outcome(closed), "control").not.toContain("hello");
    expect((await bench.lab.look()).records).toEqual([]);
    const learned = await bench.sandbox({ rules: proposed });
    expect(await outcome(learned)).toBe(WHOLE);
    await bench.lab.clear();
    const beyond = "curl -s -X DELETE http://more.allowed.test/; curl -sk https://more.allowed.test/";
    await learned.run(["sh", "-c", `${beyond}; curl -s http://raw.allowed.test:7001/`]);
    expect((await bench.lab.look()).records.filter(({ kind }) => kind === "request")).toEqual([]);
  });

  it("EG-5 proposes nothing where no rule helps, and names the network where that is what is missing", async () => {
    await bench.lab.name("lan.test", [PRIVATE]);
    await bench.lab.name("self.test", ["127.0.0.1"]);
    const sandbox = await bench.sandbox({ mode: "audit" });
    const tries = ["http://lan.test/", "https://self.test/", "https://nowhere.test/"];
    for (const url of tries) await curl(sandbox, url);
    const literals = ["https://127.0.0.1/", `https://${PRIVATE}/`];
    for (const url of literals)
      await curl(sandbox, "--noproxy", "", "--proxy", "http://198.18.0.1:3128", url);
    const denied = async () =>
      (await sandbox.networkCalls()).calls.filter(({ verdict }) => verdict === "denied").length;
    await expect.poll(denied, { timeout: 30_000 }).toBe(tries.length + literals.length);
    const { proposed, calls } = await sandbox.networkCalls();
    const cidrs = [`${PRIVATE}/32`];
    const [lan, literal, ...more] = proposed;
    expect(lan).toEqual({ effect: "allow", host: "lan.test", protocol: "http", cidrs });
    expect(literal).toEqual({ effect: "allow", host: PRIVATE, protocol: "https", cidrs });
    expect(more).toEqual([]);
    const hopeless = calls.filter(({ cure }) => cure === "none").map(({ host, reason }) => [host, reason]);
    expect(hopeless).toEqual([
      ["self.test", "self.test leads to an address inside a network that no rule can open"],
      ["nowhere.test", "nowhere.test has no address"],
      ["127.0.0.1", "127.0.0.1 leads to an address inside a network that no rule can open"],
    ]);
    expect((await bench.lab.look()).records.filter(({ kind }) => kind === "request")).toEqual([]);
    await sandbox.changeNetwork({ egress: "guarded", rules: proposed });
    expect(text((await curl(sandbox, "http://lan.test/")).stdout)).toBe("hello from lan.test\n");
  });
});
