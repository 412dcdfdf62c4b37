import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, curl, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

const RULE = { effect: "allow", host: "api.allowed.test", protocol: "https" } as const;

describe("a profile from what an audited run reached", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench();
    await bench.lab.name("api.allowed.test", [WORLD]);
    await bench.lab.name("more.allowed.test", [WORLD]);
  });
  afterAll(() => bench.close());

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
    expect(await networkOf(sandbox.id)).toMatchObject(enforced("api.allowed.test"));

    await sandbox.stop();
    expect(await networkOf(sandbox.id), "stopped").toMatchObject(enforced("api.allowed.test"));
    await sandbox.start();
    await reach(sandbox, "more.allowed.test");
    const both = enforced("api.allowed.test", "more.allowed.test");
    expect(await networkOf(sandbox.id), "before the stop and after it").toMatchObject(both);
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
});
