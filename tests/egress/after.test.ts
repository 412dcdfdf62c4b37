import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Bench, text } from "./lab/sandbox.ts";
import { HOLDS, openWard, standAfterKill, standOf, WARD } from "./lab/ward.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 180_000 });

describe("EG-1 EG-14 SE-2 all that a guard is for", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  const copies: Sandbox[] = [];
  beforeAll(async () => {
    ({ bench, sandbox } = await openWard({ persistence: "persistent" }));
  });
  afterAll(() => bench.close());

  const keyOf = async (one: Sandbox) => text((await one.run(["printenv", "MODEL_KEY"])).stdout).trim();

  it("holds to begin with (control)", async () => {
    expect(await standOf(bench, sandbox)).toEqual(HOLDS);
  });

  it("holds after pause and resume, and a rule that was taken away meanwhile is gone", async () => {
    await sandbox.pause();
    await sandbox.resume();
    expect(await standOf(bench, sandbox)).toEqual(HOLDS);
    await sandbox.pause();
    await sandbox.changeNetwork({ ...WARD, rules: [] });
    await sandbox.resume();
    const closed = await standOf(bench, sandbox);
    expect(closed.inside, "the control of what follows: it was changed back at the end").toMatchObject({
      allowed: "",
      "the key in its cell": "no rule allows model.test:443",
    });
    expect(await standOf(bench, sandbox)).toEqual(HOLDS);
  });

  it("SE-3 holds in a fork and in what it was forked from, each with a placeholder of its own", async () => {
    const [fork] = (await sandbox.fork()) as [Sandbox];
    copies.push(fork);
    expect(await standOf(bench, fork)).toEqual(HOLDS);
    expect(await standOf(bench, sandbox)).toEqual(HOLDS);
    await thief(fork, await keyOf(sandbox));
  });

  it("SE-3 holds in what a snapshot is restored to, also with fewer rules", async () => {
    const { id } = await sandbox.snapshot();
    const restored = await bench.client.sandboxes.create({ from: id, network: WARD, secrets: ["MODEL_KEY"] });
    copies.push(restored);
    expect(await standOf(bench, restored)).toEqual(HOLDS);
    await thief(restored, await keyOf(sandbox));
    const bare = await bench.client.sandboxes.create({ from: id });
    await bench.lab.clear();
    expect((await bare.run(["curl", "-sk", "https://open.test/"])).exit).not.toMatchObject({ code: 0 });
    expect(text((await bare.run(["sh", "-c", "echo $MODEL_KEY"])).stdout), "not even a placeholder").toBe(
      "\n",
    );
    expect((await bench.lab.look()).records).toEqual([]);
    await bare.destroy();
  });

  it("holds after stop and start", async () => {
    await sandbox.stop();
    await sandbox.start();
    expect(await standOf(bench, sandbox)).toEqual(HOLDS);
  });

  it("EG-20 holds again once a killed guard is back", async () => {
    expect(await standAfterKill(bench, sandbox)).toEqual(HOLDS);
  });

  it("holds after a restart of the gateway, in all of them, with the rules that they had last", async () => {
    const last = copies.at(-1) as Sandbox;
    await last.changeNetwork({ ...WARD, rules: [{ host: "late.test" }] });
    await sandbox.pause();
    await bench.gateway.close();
    const client = await bench.reopen();
    const changed = await client.sandboxes.get(last.id);
    await bench.lab.clear();
    const fetched = (host: string) =>
      changed.run(["curl", "-s", "--cacert", "/home/user/lab.pem", `https://${host}/`]);
    expect(text((await fetched("late.test")).stdout)).toBe("hello from late.test\n");
    expect(text((await fetched("open.test")).stdout)).toBe("");
    await changed.changeNetwork(WARD);
    await (await client.sandboxes.get(sandbox.id)).resume();
    for (const { id } of [sandbox, ...copies]) {
      expect(await standOf(bench, await client.sandboxes.get(id))).toEqual(HOLDS);
    }
  });

  /** Another sandbox's placeholder is put in nowhere. */
  async function thief(one: Sandbox, placeholder: string): Promise<void> {
    expect(await keyOf(one)).not.toBe(placeholder);
    await bench.lab.clear();
    const { stdout } = await one.run([
      ...["curl", "-s", "-H", `x-api-key: ${placeholder}`],
      ...["-d", "{}", "https://model.test/v1/messages"],
    ]);
    expect(text(stdout)).toContain("another sandbox's secret");
    const { records } = await bench.lab.look();
    expect(records.filter(({ kind }) => kind === "request")).toEqual([]);
  }
});
