import type { Operation } from "@sandboxer/contract";
import { Sandbox } from "e2b";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { ask } from "./asking.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

describe("words of E2B's lifecycle that its client says seldom", () => {
  let door: Door;

  beforeAll(async () => {
    door = await openDoor();
  });
  afterAll(() => door?.close());

  const made = () => Sandbox.create("base", door.options);
  const asleep = async () => {
    const sandbox = await made();
    const { pid } = await sandbox.commands.run("sleep 600", { background: true, timeoutMs: 0 });
    await sandbox.files.write("kept", "still here");
    const boot = await bootId(sandbox);
    await sandbox.pause();
    return { sandbox, pid, boot, path: `/sandboxes/${sandbox.sandboxId}` };
  };
  const bootId = async (of: Sandbox) => (await of.commands.run("cat /proc/sys/kernel/random/boot_id")).stdout;
  const pidsIn = async (of: Sandbox) => (await of.commands.list()).map(({ pid }) => pid);

  it.each(["/connect", "/resume"])("starts anew over the files where %s says so", async (verb) => {
    const { sandbox, pid, boot, path } = await asleep();
    const { status } = await ask(door, "POST", path + verb, { timeout: 60, memory: false });
    expect(status).toBe(201);
    expect(await bootId(sandbox)).not.toBe(boot);
    expect(await pidsIn(sandbox)).not.toContain(pid);
    expect(await sandbox.files.read("kept")).toBe("still here");
    // Of one that runs, it changes nothing.
    const again = await bootId(sandbox);
    expect((await ask(door, "POST", `/v2${path}/connect`, { memory: false })).status).toBe(200);
    expect(await bootId(sandbox)).toBe(again);
    await sandbox.kill();
  });

  it("moves no end of one that sleeps, and wakes none to keep it", async () => {
    const { sandbox, pid, path } = await asleep();
    const before = (await ask(door, "GET", path)).json.endAt;
    for (const [verb, body] of Object.entries({ timeout: { timeout: 1 }, refreshes: { duration: 30 } })) {
      const { status, json } = await ask(door, "POST", `${path}/${verb}`, body);
      expect({ status, json }, verb).toEqual({
        status: 404,
        json: { code: 404, message: expect.stringContaining("doesn't exist") },
      });
    }
    expect((await ask(door, "GET", path)).json).toMatchObject({ state: "paused", endAt: before });
    await sandbox.connect();
    expect(await pidsIn(sandbox)).toContain(pid);
    await sandbox.kill();
  });

  it("wakes for its traffic for as long as it was made to run, also where it ends at its end", async () => {
    const autoResume = { enabled: true };
    for (const more of [{ autoPause: true }, {}]) {
      const asked = { templateID: "base", timeout: 3_000, autoResume, ...more };
      const { json } = await ask(door, "POST", "/v2/sandboxes", asked);
      const sandbox = await Sandbox.connect(json.sandboxID, door.options);
      await sandbox.files.write("kept", "still here");
      await sandbox.pause();
      expect(await sandbox.files.read("kept")).toBe("still here");
      const { endAt, state, lifecycle } = await sandbox.getInfo();
      expect([state, lifecycle?.autoResume]).toEqual(["running", true]);
      expect(endAt.getTime() - Date.now()).toBeGreaterThan(2_500_000);
      expect(endAt.getTime() - Date.now()).toBeLessThan(3_500_000);
      await sandbox.kill();
    }
  });

  it("runs for no longer than its key lets it, whatever it is asked for, and never sleeps less for that", async () => {
    const { core, apiKey: rootKey } = door.gateway;
    const { apiKey } = await core.createKey(await core.authenticate(rootKey), { maximumTtlMs: 3_600_000 });
    const mine = { ...door.options, apiKey };
    for (const lifecycle of [{ onTimeout: "kill" }, { onTimeout: "pause" }] as const) {
      const sandbox = await Sandbox.create("base", { ...mine, timeoutMs: 600_000, lifecycle });
      const leftMs = async () => (await sandbox.getInfo()).endAt.getTime() - Date.now();
      await sandbox.setTimeout(1_200_000);
      expect(await leftMs()).toBeGreaterThan(1_000_000);
      await sandbox.setTimeout(7_200_000);
      expect(await leftMs()).toBeGreaterThan(1_000_000);
      expect(await leftMs()).toBeLessThanOrEqual(3_600_000);
      await sandbox.pause();
      await sandbox.connect({ timeoutMs: 7_200_000 });
      expect((await sandbox.getInfo()).state).toBe("running");
      await sandbox.kill();
    }
  });

  it("leaves nothing behind that its key could not have used", async () => {
    const { core, apiKey: rootKey } = door.gateway;
    const root = await core.authenticate(rootKey);
    const living = async () => {
      const { sandboxes } = await core.list(root, { states: ["provisioning", "running", "paused"] });
      return sandboxes.map(({ id }) => id);
    };
    const keyFor = async (operations: Operation[]) => (await core.createKey(root, { operations })).apiKey;
    const before = await living();
    const blind = { ...door, options: { ...door.options, apiKey: await keyFor(["sandbox.create"]) } };
    const made = await ask(blind, "POST", "/v2/sandboxes", { templateID: "base" });
    expect(made.json).toMatchObject({ code: 403 });
    expect(await living()).toEqual(before);

    const some = await keyFor(["sandbox.create", "sandbox.read", "sandbox.snapshot", "sandbox.destroy"]);
    const fixed = { ...door, options: { ...door.options, apiKey: some } };
    const own = await Sandbox.create("base", fixed.options);
    const forks = await ask(fixed, "POST", `/sandboxes/${own.sandboxId}/fork`, { count: 2, timeout: 60 });
    expect(forks.json).toEqual({ code: 403, message: expect.stringContaining("sandbox.extend") });
    expect((await living()).toSorted()).toEqual([...before, own.sandboxId].toSorted());
    await own.kill();
  });

  it("refuses what it would otherwise forget", async () => {
    const { sandbox, path } = await asleep();
    const refused = await ask(door, "POST", `${path}/resume`, { timeout: 60, autoPause: true });
    expect(refused.json).toEqual({ code: 400, message: expect.stringContaining("autoPause") });
    expect((await ask(door, "POST", `${path}/resume`, { timeout: 60, autoPause: false })).status).toBe(201);
    await sandbox.kill();
  });

  it("leaves MCP servers to the client, which starts them inside, and ends what it could not", async () => {
    const metadata = { of: "mcp" };
    const asked = { ...door.options, metadata, mcp: { time: {} } as never };
    await expect(Sandbox.create("base", asked)).rejects.toThrow("Failed to start MCP gateway");
    expect((await ask(door, "GET", "/v2/sandboxes?metadata=of%3Dmcp")).json).toEqual([]);
  });

  it("tells its log in the shape that each version has, as much of it as is asked for", async () => {
    const sandbox = await made();
    const path = `/sandboxes/${sandbox.sandboxId}/logs`;
    await sandbox.commands.run("true");
    const told = async (query: string) => (await ask(door, "GET", query)).json;
    type Entry = { readonly message: string; readonly timestamp: string };
    const messages = (entries: readonly Entry[]) => entries.map(({ message }) => message);
    await expect
      .poll(async () => messages((await told(`/v2${path}`)).logs), { timeout: 60_000 })
      .toContain("process.started");
    await sandbox.kill();
    const newest = await told(`/v2${path}`);
    expect(Object.keys(newest)).toEqual(["logs"]);
    expect(newest.logs[0]).toEqual({
      timestamp: expect.any(String),
      level: "info",
      message: "sandbox.destroyed",
      fields: expect.any(Object),
    });
    const forward = (await told(`/v2${path}?direction=forward`)).logs;
    expect(forward).toEqual(newest.logs.toReversed());
    const old = await told(path);
    expect(Object.keys(old).sort()).toEqual(["logEntries", "logs"]);
    expect(old.logEntries).toEqual(forward);
    expect(old.logs[0]).toEqual({ timestamp: forward[0].timestamp, line: forward[0].message });
    expect((await told(`/v2${path}?limit=1`)).logs).toEqual(newest.logs.slice(0, 1));
    expect((await told(`/v2${path}?search=process.`)).logs.length).toBeGreaterThan(0);
    expect(
      messages((await told(`/v2${path}?search=process.`)).logs).every((one) => one.includes("process.")),
    ).toBe(true);
    expect((await told(`/v2${path}?level=error`)).logs).toEqual([]);
    const from = Date.parse(newest.logs[0].timestamp);
    expect(messages((await told(`/v2${path}?direction=forward&cursor=${from}`)).logs)).toContain(
      "sandbox.destroyed",
    );
    expect(messages((await told(`/v2${path}?cursor=${from - 60_000}`)).logs)).toEqual([]);
    expect((await told(`${path}?start=${from + 60_000}`)).logs).toEqual([]);
    for (const bad of [
      "limit=1001",
      "limit=x",
      "direction=up",
      "level=loud",
      "cursor=-1",
      `search=${"a".repeat(257)}`,
    ]) {
      expect(await told(`/v2${path}?${bad}`), bad).toEqual({ code: 400, message: expect.any(String) });
    }
    expect(await told(`/v2/sandboxes/${"a".repeat(20)}/logs`)).toMatchObject({ code: 404 });
  });
});
