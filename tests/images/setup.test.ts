import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, openGateway, silent } from "@sandboxer/gateway";
import { type Client, createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const said = async (sandbox: Sandbox, script: string): Promise<string> =>
  new TextDecoder().decode((await sandbox.run(["sh", "-c", script])).stdout).trim();

describe("setups", () => {
  let home: string;
  let gateway: Gateway;
  let client: Client;
  const kept = async (room: string) =>
    (await readdir(join(home, "engine/images/oci", room)).catch(() => [])).length;
  // When it ran, to the nanosecond, and something of root's.
  const setup = [
    ["sh", "-c", "date +%s%N > ~/ran; sleep 0.3"],
    ["sudo", "sh", "-c", "echo $0 > /srv/of-root; rm -r /mnt", "$GREETING"],
  ];

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-setup-"));
    gateway = await openGateway({ home, listen: false, log: silent });
    client = createClient({ url: "http://localhost", apiKey: gateway.apiKey, fetch: gateway.fetch });
  });
  afterAll(async () => {
    for await (const one of client.sandboxes.all({ states: ["running"] })) await one.destroy();
    await gateway?.close();
    await removeEngine(join(home, "engine"), home);
  });

  it("run once for all who need the same, however many race, and lie under each", async () => {
    const create = () => client.sandboxes.create({ setup, env: { GREETING: "hi" }, ttlMs: 60_000 });
    const racing = await Promise.all([create(), create(), create()]);
    const all = [...racing, await create()];
    const ran = await Promise.all(
      all.map((one) => said(one, "cat ~/ran; stat -c %U /srv/of-root ~/ran; ls -d /mnt")),
    );
    expect(new Set(ran).size, ran.join("\n")).toBe(1);
    expect(ran[0]).toMatch(/^\d+\nroot\nuser$/);
    expect([await kept("setups"), await kept("layers")]).toEqual([1, 1]);
    const [first, second] = all;
    if (!first || !second) throw new Error("none was made");
    await said(first, "echo mine > ~/ran");
    expect(await said(second, "cat ~/ran"), "what one writes the others do not see").toMatch(/^\d+$/);
    expect((await client.images.prune()).layers, "sandboxes lie on it").toBe(0);
    await Promise.all(all.map((one) => one.destroy()));
    await expect.poll(async () => (await client.images.prune()).layers).toBe(1);
    expect([await kept("setups"), await kept("layers")]).toEqual([0, 0]);
  });

  it("run again for other steps and variables", async () => {
    const steps = [["sh", "-c", "date +%s%N > ~/ran"]];
    const bodies = [{ setup: steps }, { setup: steps, env: { A: "1" } }, { setup: [...steps, ["true"]] }];
    const ran = [];
    for (const body of bodies) {
      const one = await client.sandboxes.create({ ...body, ttlMs: 60_000 });
      ran.push(await said(one, "cat ~/ran"));
      await one.destroy();
    }
    expect(new Set(ran).size).toBe(3);
    expect(await kept("setups")).toBe(3);
  });

  it("that fail, or whose proof fails, leave nothing; a proof that succeeds comes before anything is kept", async () => {
    await expect.poll(() => client.images.prune().then(() => kept("layers"))).toBe(0);
    const steps = [["sh", "-c", "echo 1 > ~/made"]];
    for (const body of [{ setup: [["false"]] }, { setup: steps, verify: [["test", "-e", "/nothing"]] }]) {
      await expect(client.sandboxes.create({ ...body, ttlMs: 60_000 })).rejects.toMatchObject({
        code: "setup_failed",
      });
    }
    expect([await kept("setups"), await kept("layers"), await kept("drafts")]).toEqual([0, 0, 0]);
    const proven = {
      setup: steps,
      verify: [["sh", "-c", "test -e ~/made"]],
      runbook: "If it is amiss, make it anew.",
    };
    const one = await client.sandboxes.create({ ...proven, ttlMs: 60_000 });
    expect(await kept("setups")).toBe(1);
    expect(one.info.spec.runbook).toBe(proven.runbook);
    await one.destroy();
  });

  it("of a profile are its sandboxes'", async () => {
    const profile = {
      schema: 1 as const,
      name: "made",
      setup: [["sh", "-c", "date +%s%N > ~/ran"]],
      runbook: "Made.",
    };
    await client.profiles.publish(profile);
    const create = () => client.sandboxes.create({ profile: "made", ttlMs: 60_000 });
    const [one, two] = [await create(), await create()];
    expect(await said(one, "cat ~/ran")).toBe(await said(two, "cat ~/ran"));
    expect(two.info.spec.runbook).toBe("Made.");
    await Promise.all([one.destroy(), two.destroy()]);
  });

  it("are part of what a snapshot takes, and of what is started again", async () => {
    const steps = [["sh", "-c", "date +%s%N > ~/ran; echo x > ~/changed"]];
    const body = { setup: steps, ttlMs: 60_000, persistence: "persistent" as const };
    const first = await client.sandboxes.create(body);
    const second = await client.sandboxes.create(body);
    await said(second, "echo y > ~/changed; echo z > ~/own");
    const { id } = await second.snapshot();
    const copy = await client.sandboxes.create({ from: id, ttlMs: 60_000 });
    const all = "cat ~/ran ~/changed ~/own";
    const before = await said(second, all);
    expect(before).toMatch(/^\d+\ny\nz$/);
    expect(await said(copy, all)).toBe(before);
    await second.stop();
    await second.start();
    expect(await said(second, all)).toBe(before);
    for (const one of [first, second, copy]) await one.destroy();
  });
});
