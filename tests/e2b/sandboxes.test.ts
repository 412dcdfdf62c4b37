import { readFile } from "node:fs/promises";
import { NotFoundError, Sandbox, SandboxNotFoundError } from "e2b";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

describe("E2B's own client, with sandboxes", () => {
  let door: Door;
  let sandbox: Sandbox;

  beforeAll(async () => {
    door = await openDoor();
    sandbox = await Sandbox.create("base", {
      ...door.options,
      metadata: { task: "a b&c" },
      envs: { WORD: "yes" },
    });
  });
  afterAll(async () => {
    await sandbox?.kill();
    await door?.close();
  });

  it("makes one, finds it again and sees what it is", async () => {
    expect(await sandbox.isRunning()).toBe(true);
    const info = await sandbox.getInfo();
    expect(info).toMatchObject({
      sandboxId: sandbox.sandboxId,
      state: "running",
      metadata: { task: "a b&c" },
    });
    expect(info.endAt.getTime()).toBeGreaterThan(Date.now() + 60_000);
    const again = await Sandbox.connect(sandbox.sandboxId, door.options);
    expect((await again.commands.run("echo $WORD")).stdout).toBe("yes\n");
    expect((await door.gateway.core.get(await root(), sandbox.sandboxId)).spec.labels.task).toBe("a b&c");
  });

  const root = () => door.gateway.core.authenticate(door.gateway.apiKey);

  it("lists page by page, by state and by metadata", async () => {
    const more = await Promise.all(
      ["one", "two"].map((task) =>
        Sandbox.create("base", { ...door.options, metadata: { task, of: "list" } }),
      ),
    );
    const mine = Sandbox.list({ ...door.options, limit: 1, query: { metadata: { of: "list" } } });
    const seen: string[] = [];
    while (mine.hasNext) seen.push(...(await mine.nextItems()).map(({ sandboxId }) => sandboxId));
    expect(seen.toSorted()).toEqual(more.map(({ sandboxId }) => sandboxId).toSorted());
    const odd = Sandbox.list({ ...door.options, query: { metadata: { task: "a b&c" } } });
    expect((await odd.nextItems()).map(({ sandboxId }) => sandboxId)).toEqual([sandbox.sandboxId]);
    await more[0]?.pause();
    const asleep = Sandbox.list({ ...door.options, query: { state: ["paused"] } });
    expect((await asleep.nextItems()).map(({ sandboxId }) => sandboxId)).toEqual([more[0]?.sandboxId]);
    await Promise.all(more.map((one) => one.kill()));
  });

  it("pauses and wakes with everything in memory", async () => {
    const sleeper = await sandbox.commands.run("sleep 600", { background: true, timeoutMs: 0 });
    await sandbox.pause();
    expect(await sandbox.isRunning()).toBe(false);
    expect((await sandbox.getInfo()).state).toBe("paused");
    expect(await Sandbox.pause(sandbox.sandboxId, door.options)).toBe(false);
    await sandbox.connect();
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(sleeper.pid);
    expect(await sleeper.kill()).toBe(true);
  });

  const bootId = async (of: Sandbox) =>
    (await of.commands.run("cat /proc/sys/kernel/random/boot_id")).stdout.trim();

  it("pauses without memory: what ran is over, the files are there, and it was started anew", async () => {
    const own = await Sandbox.create("base", { ...door.options, metadata: { of: "no memory" } });
    const sleeper = await own.commands.run("sleep 600", { background: true, timeoutMs: 0 });
    await own.files.write("kept", "still here");
    const before = await bootId(own);
    expect(before).not.toBe((await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim());
    for (const word of ["once", "twice"]) {
      await own.pause({ keepMemory: false });
      expect(await own.isRunning()).toBe(false);
      expect((await door.gateway.core.get(await root(), own.sandboxId)).pauseDepth).toBe("disk");
      // Traffic does not start it.
      await expect(own.files.read("kept")).rejects.toThrow();
      await own.connect();
      expect(await own.files.read("kept")).toBe("still here");
      await own.files.write(word, word);
    }
    expect(await own.commands.run("cat once twice")).toMatchObject({ stdout: "oncetwice" });
    expect(await bootId(own)).not.toBe(before);
    expect((await own.commands.list()).map(({ pid }) => pid)).not.toContain(sleeper.pid);
    expect((await own.getInfo()).metadata).toEqual({ of: "no memory" });
    await own.pause({ keepMemory: false });
    expect(await own.kill()).toBe(true);
    expect(await own.isRunning()).toBe(false);
  });

  it("pauses without memory at the end of its time, and is started by a word of its own only", async () => {
    const lifecycle = { onTimeout: { action: "pause", keepMemory: false } } as const;
    const own = await Sandbox.create("base", { ...door.options, lifecycle });
    await own.files.write("kept", "still here");
    const before = await bootId(own);
    await own.setTimeout(1_000);
    await expect.poll(async () => (await own.getInfo()).state, { timeout: 60_000 }).toBe("paused");
    await own.connect();
    expect(await own.files.read("kept")).toBe("still here");
    expect(await bootId(own)).not.toBe(before);
    await own.kill();
    for (const asked of [
      { autoPauseMemory: false },
      { autoPause: true, autoPauseMemory: false, autoResume: { enabled: true } },
    ]) {
      const answer = await fetch(`${door.url}/v2/sandboxes`, {
        method: "POST",
        headers: { "x-api-key": door.options.apiKey ?? "", "content-type": "application/json" },
        body: JSON.stringify({ templateID: "base", ...asked }),
      });
      expect(await answer.json()).toMatchObject({ code: 400 });
    }
  });

  it("sleeps at the end of its time where that was asked for, and wakes when it is used", async () => {
    const lifecycle = { onTimeout: "pause", autoResume: true } as const;
    const own = await Sandbox.create("base", { ...door.options, timeoutMs: 6_000, lifecycle });
    await own.files.write("kept", "still here");
    await expect.poll(async () => (await own.getInfo()).state).toBe("paused");
    expect(await own.files.read("kept")).toBe("still here");
    expect((await own.getInfo()).state).toBe("running");
    await own.kill();
  });

  it("forks what sleeps at its end, for the time that the fork was given", async () => {
    const own = await Sandbox.create("base", { ...door.options, lifecycle: { onTimeout: "pause" } });
    await own.files.write("kept", "still here");
    const [fork] = await own.fork({ timeoutMs: 60_000 });
    expect(fork).toBeInstanceOf(Sandbox);
    if (!(fork instanceof Sandbox)) return;
    const { endAt, lifecycle } = await fork.getInfo();
    expect(Math.abs(endAt.getTime() - Date.now() - 60_000)).toBeLessThan(30_000);
    expect(lifecycle).toMatchObject({ onTimeout: "pause" });
    expect(await fork.files.read("kept")).toBe("still here");
    await fork.setTimeout(1_000);
    await expect.poll(async () => (await fork.getInfo()).state, { timeout: 60_000 }).toBe("paused");
    expect((await own.getInfo()).state).toBe("running");
    await Promise.all([own.kill(), fork.kill()]);
  });

  it("says at once that it cannot sleep at its end, where its key could not put it to sleep", async () => {
    const { core } = door.gateway;
    const timeoutMs = 60_000;
    const asked = { ...door.options, timeoutMs, lifecycle: { onTimeout: "pause" } } as const;
    const without = await core.createKey(await root(), {
      operations: ["sandbox.create", "sandbox.read", "sandbox.destroy"],
    });
    await expect(Sandbox.create("base", { ...asked, apiKey: without.apiKey })).rejects.toThrow(
      "403: this key may not do sandbox.pause",
    );
    const brief = await core.createKey(await root(), { maximumTtlMs: timeoutMs });
    await expect(Sandbox.create("base", { ...asked, apiKey: brief.apiKey })).rejects.toThrow(
      /400: autoPause: .* nothing would be left of it/,
    );
  });

  it("moves its end, later and earlier", async () => {
    await sandbox.setTimeout(600_000);
    const late = (await sandbox.getInfo()).endAt.getTime();
    expect(late).toBeGreaterThan(Date.now() + 500_000);
    await sandbox.setTimeout(300_000);
    expect((await sandbox.getInfo()).endAt.getTime()).toBeLessThan(late);
  });

  it("takes snapshots, starts from them, and forks", async () => {
    await sandbox.files.write("state.txt", "kept");
    const { snapshotId } = await sandbox.createSnapshot({ name: "e2b-snapshot" });
    const copy = await Sandbox.create("e2b-snapshot", door.options);
    expect(await copy.files.read("state.txt")).toBe("kept");
    await copy.kill();
    const [fork] = await sandbox.fork({ timeoutMs: 60_000 });
    expect(fork).toBeInstanceOf(Sandbox);
    if (fork instanceof Sandbox) {
      expect(await fork.files.read("state.txt")).toBe("kept");
      await fork.kill();
    }
    expect(await Sandbox.deleteSnapshot(snapshotId, door.options)).toBe(true);
    expect(await Sandbox.deleteSnapshot(snapshotId, door.options)).toBe(false);
  });

  it("is told what is not there, in E2B's own words", async () => {
    const gone = await Sandbox.create("base", door.options);
    expect(await gone.kill()).toBe(true);
    expect(await gone.kill()).toBe(false);
    expect(await gone.isRunning()).toBe(false);
    await expect(gone.commands.run("true")).rejects.toThrow(SandboxNotFoundError);
    await expect(Sandbox.connect(gone.sandboxId, door.options)).rejects.toThrow(NotFoundError);
    await expect(Sandbox.create("no-such-template", door.options)).rejects.toThrow("not found");
  });

  it("tells whoever knows its id whether it runs, and wakes for nobody who asks only that", async () => {
    const lifecycle = { onTimeout: "pause", autoResume: true } as const;
    const own = await Sandbox.create("base", { ...door.options, lifecycle });
    const health = async (id: string, more = {}) => {
      const answer = await fetch(`${door.url}/health`, { headers: { "e2b-sandbox-id": id, ...more } });
      return [answer.status, await answer.text()];
    };
    expect(await health(own.sandboxId)).toEqual([204, ""]);
    expect(await health(own.sandboxId, { "x-access-token": "wrong" })).toEqual([204, ""]);
    await own.pause();
    const absent = (sandboxId: string) => [
      502,
      JSON.stringify({ sandboxId, message: "The sandbox was not found", code: 502 }),
    ];
    expect(await health(own.sandboxId)).toEqual(absent(own.sandboxId));
    expect((await own.getInfo()).state).toBe("paused");
    await own.kill();
    expect(await health(own.sandboxId)).toEqual(absent(own.sandboxId));
    expect(await health("a".repeat(20))).toEqual(absent("a".repeat(20)));
    // What was not made to be open is, to who has no word for it, what never was.
    const { core } = door.gateway;
    const { id } = await core.create(await root(), {});
    expect(await health(id)).toEqual(absent(id));
    for (const other of [id, "a".repeat(20)]) {
      expect((await health(other, { "x-access-token": "wrong" }))[0]).toBe(401);
    }
    expect((await health(id, { "x-access-token": await core.openAccess(await root(), id) }))[0]).toBe(204);
    await core.destroy(await root(), id);
  });

  it("measures itself", async () => {
    const [sample] = await sandbox.getMetrics();
    expect(sample).toMatchObject({ cpuCount: 2 });
    expect(sample?.memUsed).toBeGreaterThan(0);
  });
});
