import type { CreateKeyBody } from "@sandboxer/contract";
import { type Client, createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { KEY, MODEL } from "./lab/keys.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, curl, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 120_000 });

const guarded = (...hosts: string[]) => ({
  egress: "guarded" as const,
  rules: hosts.map((host) => ({ host })),
});
const OWN = ["own.test", "model.test"];

describe("a copy has no more than whoever makes it", () => {
  let bench: Bench;
  let source: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of [...OWN, "wide.test"]) await bench.lab.name(name, [WORLD]);
    await bench.client.secrets.set("MODEL_KEY", { value: KEY, bindings: [MODEL] });
    await bench.client.profiles.publish({
      schema: 1,
      name: "narrow",
      network: { ...guarded(...OWN, "wide.test"), mode: "ask" },
      secrets: ["MODEL_KEY"],
    });
    source = await bench.client.sandboxes.create({
      profile: "narrow",
      visibility: "org",
      secrets: ["MODEL_KEY"],
    });
  });
  afterAll(() => bench.close());

  const holder = async (body: CreateKeyBody): Promise<Client> => {
    const { apiKey, key } = await bench.client.keys.create({ role: "operator", ...body });
    if (!body.secrets || body.secrets.length > 0) await bench.client.secrets.grant("MODEL_KEY", key.id);
    return createClient({ url: "http://localhost", apiKey, fetch: bench.gateway.fetch });
  };
  const refused = (work: Promise<unknown>) =>
    work.then(
      () => "made",
      ({ code, details }) => [code, details.rule],
    );
  const MOST = [...OWN, "wide.test"].map((host) => `${host}:443`);
  const NARROWER: [string, CreateKeyBody, string][] = [
    ["ways out", { network: ["own.test:443", "model.test:443"] }, "network"],
    ["capabilities", { capabilities: ["none"] }, "capabilities"],
    ["secrets", { secrets: [] }, "secrets"],
    ["isolation", { minimumIsolation: "microvm" }, "minimumIsolation"],
    ["profiles", { profiles: ["base"] }, "profiles"],
  ];

  it.each(NARROWER)(
    "SN-3 AZ-2 refuses a fork to a key with fewer %s, and makes nothing",
    async (_, body, rule) => {
      const client = await holder(body);
      const before = (await bench.client.sandboxes.list({})).sandboxes.length;
      const seen = await client.sandboxes.get(source.id);
      expect(await refused(seen.fork())).toEqual(["policy_denied", rule]);
      expect((await bench.client.sandboxes.list({})).sandboxes).toHaveLength(before);
    },
  );

  it("SN-3 gives it to a key that has as much (control), with its profile, which binds it as before", async () => {
    const client = await holder({ network: MOST, profiles: ["narrow"], secrets: ["MODEL_KEY"] });
    const [fork] = (await (await client.sandboxes.get(source.id)).fork()) as [Sandbox];
    expect(fork.info.profile).toEqual(source.info.profile);
    expect(fork.info.spec.secrets).toEqual(["MODEL_KEY"]);
    expect(text((await curl(fork, "-k", "https://own.test/")).stdout)).toBe("hello from own.test\n");
    const [own] = (await source.fork()) as [Sandbox];
    for (const one of [own, source]) {
      expect(await refused(one.changeNetwork(guarded("elsewhere.test")))).toEqual([
        "policy_denied",
        "profile.network",
      ]);
    }
    const free = await bench.client.sandboxes.create({ network: guarded("own.test") });
    const [copy] = (await free.fork()) as [Sandbox];
    expect(await refused(copy.changeNetwork(guarded("elsewhere.test"))), "control: without one").toBe("made");
  });

  it("a yes for one sandbox is not one for its copies", async () => {
    const asking = await bench.client.sandboxes.create({
      profile: "narrow",
      network: { ...guarded("own.test"), mode: "ask" },
    });
    await bench.lab.name("asked.test", [WORLD]);
    const waiting = curl(asking, "-k", "https://asked.test/");
    const pending = async () =>
      (await bench.client.approvals.list({ state: "pending" })).find(
        ({ sandboxId }) => sandboxId === asking.id,
      );
    await expect.poll(pending, { timeout: 60_000 }).toBeDefined();
    await bench.client.approvals.approve((await pending())?.id ?? "", "sandbox");
    expect(text((await waiting).stdout)).toBe("hello from asked.test\n");
    const hosts = ({ info }: Sandbox) =>
      info.spec.network.egress === "guarded" && info.spec.network.rules.map(({ host }) => host);
    await asking.refresh();
    expect(hosts(asking), "control: it is that sandbox's rule").toEqual(["own.test", "asked.test"]);
    const [fork] = (await asking.fork()) as [Sandbox];
    expect(hosts(fork)).toEqual(["own.test"]);
    expect(hosts(await asking.recreate())).toEqual(["own.test"]);
  });

  it("SN-3 restores to no more than the key that restores may have", async () => {
    const client = await holder({ network: ["own.test:443"], secrets: [] });
    const made = await client.sandboxes.create({ network: guarded("own.test") });
    const { id: from } = await made.snapshot();
    const restore = (more: object) => client.sandboxes.create({ from, ...more });
    expect(await refused(restore({ network: guarded("wide.test") }))).toEqual(["policy_denied", "network"]);
    expect(await refused(restore({ network: guarded("own.test"), secrets: ["MODEL_KEY"] }))).toEqual([
      "policy_denied",
      "secrets",
    ]);
    const bare = await restore({});
    expect(bare.info.spec.network, "a snapshot brings no way out along").toEqual({ egress: "deny" });
    expect(await refused(restore({ network: guarded("own.test") })), "control").toBe("made");
  });
});
