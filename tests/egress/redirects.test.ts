import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { holds, KEY, MODEL } from "./lab/keys.ts";
import { METADATA, PRIVATE, WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 120_000 });

const STATUSES = [301, 302, 303, 307, 308];
const from = (status: number, to: string) =>
  `https://model.test/v1/redirect/${status}?to=${encodeURIComponent(to)}`;

describe("an answer that leads elsewhere", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of ["model.test", "other.test", "unread.test", "evil.test"])
      await bench.lab.name(name, [WORLD]);
    await bench.lab.name("inner.test", [PRIVATE]);
    await bench.client.secrets.set("MODEL_KEY", { value: KEY, bindings: [MODEL] });
    const rules = [
      { host: "model.test" },
      { host: "model.test", protocol: "http" as const },
      { host: "other.test", inspect: true },
      { host: "unread.test" },
      { host: "inner.test" },
    ];
    sandbox = await bench.sandbox({ rules }, { secrets: ["MODEL_KEY"] });
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  /** A client that follows, and says its headers and its body to whoever it is led to. */
  const follow = async (url: string, more = '-H "x-api-key: $MODEL_KEY"') => {
    const line = `curl -skL --max-time 60 -o /dev/null -w '%{http_code}' --post301 --post302 -d '{}' ${more} '${url}'`;
    return text((await sandbox.run(["sh", "-c", line], { timeoutMs: 90_000 })).stdout);
  };
  const records = async () => (await bench.lab.look()).records;
  const requests = async () => (await records()).filter(({ kind }) => kind === "request");
  const alarms = async () =>
    (await bench.client.events.list({ limit: 1_000 })).filter(({ type }) => type === "secret.misused").length;

  it.each(STATUSES)(
    "EG-15 SE-2 %s: the host that it leads to is not asked, nor even looked up",
    async (status) => {
      expect(await follow(from(status, "https://evil.test/v1/x"))).not.toBe("200");
      const all = await requests();
      expect(all.map(({ what }) => what.split("?")[0])).toEqual([`POST /v1/redirect/${status}`]);
      expect(all[0]?.headers, "control: whoever may have the key has it").toContain(KEY);
      expect((await records()).filter(({ what }) => what.includes("evil.test."))).toEqual([]);
      const denied = async () => (await sandbox.networkCalls()).calls.at(-1);
      await expect.poll(denied, { timeout: 60_000 }).toMatchObject({ host: "evil.test", verdict: "denied" });
    },
  );

  it.each(STATUSES)(
    "EG-15 SE-2 %s: a host that may be asked does not get the key of another",
    async (status) => {
      const before = await alarms();
      expect(await follow(from(status, "https://other.test/v1/x"))).toBe("403");
      expect((await requests()).map(({ what }) => what.split("?")[0])).toEqual([
        `POST /v1/redirect/${status}`,
      ]);
      await expect.poll(alarms, { timeout: 60_000 }).toBeGreaterThan(before);
      await bench.lab.clear();
      expect(await follow(from(status, "https://other.test/v1/x"), ""), "control: without it").toBe("200");
      const [, second] = await requests();
      expect(second?.what).toMatch(/^(?:GET|POST) \/v1\/x$/);
      await bench.lab.clear();
      expect(await follow(from(status, "https://model.test/v1/x")), "control: to where it belongs").toBe(
        "200",
      );
      expect((await requests()).map(({ headers }) => headers?.includes(KEY))).toEqual([true, true]);
    },
  );

  it("EG-15 what nobody reads gets a placeholder at most", async () => {
    expect(await follow(from(307, "https://unread.test/v1/x"))).toBe("200");
    const [, second] = await requests();
    expect(second?.what).toBe("POST /v1/x");
    expect(holds(JSON.stringify(second), KEY)).toEqual([]);
  });

  it.each([
    "http://model.test/v1/x",
    "https://model.test/v2/x",
    "https://inner.test/",
    `https://${PRIVATE}/`,
    `http://${METADATA}/latest/meta-data/`,
    `https://${WORLD}/v1/x`,
    "https://model.test:8445/v1/x",
  ])("EG-15 EG-5 SE-2 neither without TLS, nor beside its path, nor to an address: %s", async (to) => {
    expect(await follow(from(308, to))).not.toBe("200");
    expect((await requests()).map(({ what }) => what.split("?")[0])).toEqual(["POST /v1/redirect/308"]);
  });

  it("EG-15 a page that sends its reader elsewhere does so in vain, and another service is not offered", async () => {
    const url = (host: string) => `https://${host}/v1/redirect/200?to=https://evil.test/v1/x`;
    const get = async (host: string) =>
      text(
        (await sandbox.run(["curl", "-ski", "--max-time", "60", url(host)], { timeoutMs: 90_000 })).stdout,
      );
    expect(await get("unread.test"), "control: the far side offers it").toMatch(/alt-svc: h2="evil/i);
    const page = await get("other.test");
    expect(page).not.toMatch(/alt-svc/i);
    const led = /<meta http-equiv="refresh" content="0; url=([^"]+)">/.exec(page)?.[1] ?? "";
    expect(led).toBe("https://evil.test/v1/x");
    await bench.lab.clear();
    expect((await sandbox.run(["curl", "-skf", "--max-time", "60", led])).exit).not.toMatchObject({
      code: 0,
    });
    expect(await records()).toEqual([]);
  });
});
