import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FAIL_POINTS } from "@sandboxer/core";
import type { Client, Sandbox } from "@sandboxer/sdk";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { cliOf } from "../e2e/cli-process.ts";
import { expectDeathAt, startDoomed, startGateway } from "./gateway-process.ts";
import { expectNothingLeft, kill, makeHome } from "./home.ts";
import { isAlive, processesOf } from "./processes.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const SOON = { timeout: 60_000, interval: 20 };
const placesOf = (verb: string) => FAIL_POINTS.filter((place) => place.startsWith(verb));
const text = ({ stdout }: { stdout: Uint8Array }) => new TextDecoder().decode(stdout);
const sh = async (sandbox: Sandbox, script: string) => text(await sandbox.run(["sh", "-c", script]));

const persistent = async (client: Client, more: object = {}): Promise<Sandbox> => {
  const sandbox = await client.sandboxes.create({ persistence: "persistent", ttlMs: 60_000, ...more });
  expect(await sh(sandbox, "echo one > ~/kept; cat ~/kept")).toBe("one\n");
  return sandbox;
};

const expectOver = async (
  sandbox: Sandbox,
  end: (signal: NodeJS.Signals) => Promise<unknown>,
  home: string,
) => {
  await sandbox.destroy();
  expect(await end("SIGTERM")).toBe(0);
  await expectNothingLeft(home);
};

describe("kill -9 of the gateway while it stops or starts a sandbox", () => {
  it.each(placesOf("stop."))("RE-3 at %s leaves it stopped, with its files", async (place) => {
    const home = makeHome(onTestFinished);
    const doomed = await startDoomed(home, place);
    const first = await persistent(doomed.client);
    await expectDeathAt(doomed, place, first.stop());
    const { client, end } = await startGateway(home);
    const sandbox = await client.sandboxes.get(first.id);
    expect(sandbox.info).toMatchObject({ state: "paused", pauseDepth: "disk" });
    await sandbox.start();
    expect(await sh(sandbox, "cat ~/kept")).toBe("one\n");
    await expectOver(sandbox, end, home);
  });

  it.each(placesOf("start."))("RE-3 at %s leaves it running, with its files", async (place) => {
    const home = makeHome(onTestFinished);
    const doomed = await startDoomed(home, place);
    const first = await persistent(doomed.client);
    await first.stop();
    await expectDeathAt(doomed, place, first.start());
    const { client, end } = await startGateway(home);
    const sandbox = await client.sandboxes.get(first.id);
    expect(sandbox.info.state).toBe("running");
    expect(sandbox.info.pauseDepth).toBeUndefined();
    expect(await sh(sandbox, "cat ~/kept")).toBe("one\n");
    await expectOver(sandbox, end, home);
  });
});

describe("a machine that goes down", () => {
  /** Everything of the home is gone at once, and what is on the disk names another boot. */
  const crash = async (home: string): Promise<void> => {
    const pids = processesOf(home);
    for (const pid of pids) kill(pid, "SIGKILL");
    await expect.poll(() => pids.filter(isAlive), SOON).toEqual([]);
  };
  const pretendReboot = (home: string, id: string): void => {
    const path = join(home, "engine/boxes", id, "box.json");
    const record = JSON.parse(readFileSync(path, "utf8"));
    expect(record.bootId).toMatch(/^[0-9a-f-]{36}$/);
    writeFileSync(path, JSON.stringify({ ...record, bootId: "another" }));
  };

  it("RE-4 leaves what is persistent stopped, with its files and its workspace, and what is ephemeral lost", async () => {
    const home = makeHome(onTestFinished);
    const project = join(home, "project");
    mkdirSync(project);
    writeFileSync(join(project, "notes"), "old\n");
    const { client } = await startGateway(home);
    const workspace = { source: project, allowSensitive: true };
    const running = await persistent(client, { workspace });
    expect(await sh(running, "echo new > /workspace/notes; sync")).toBe("");
    const stopped = await persistent(client);
    await stopped.stop();
    const brief = await client.sandboxes.create();
    await crash(home);
    for (const { id } of [running, stopped]) pretendReboot(home, id);

    const second = await startGateway(home);
    const states = async (id: string) => {
      const { state, pauseDepth, reason } = (await second.client.sandboxes.get(id)).info;
      return { state, pauseDepth, reason };
    };
    expect(await states(running.id)).toMatchObject({ state: "paused", pauseDepth: "disk" });
    expect(await states(stopped.id)).toMatchObject({ state: "paused", pauseDepth: "disk" });
    expect(await states(brief.id), "control").toMatchObject({ state: "lost" });
    const again = await second.client.sandboxes.get(running.id);
    await again.start();
    expect(await sh(again, "cat ~/kept /workspace/notes")).toBe("one\nnew\n");
    const changes: string[] = [];
    for await (const { path, change } of await again.workspace.changes()) changes.push(`${change} ${path}`);
    expect(changes).toEqual(["changed notes"]);
    expect(readFileSync(join(project, "notes"), "utf8")).toBe("old\n");
    await (await second.client.sandboxes.get(stopped.id)).destroy();
    await again.destroy();
    expect(await second.end("SIGTERM")).toBe(0);
    writeFileSync(join(home, "project/notes"), "");
    await removeProject(home);
    await expectNothingLeft(home);
  });
});

async function removeProject(home: string): Promise<void> {
  const { rm } = await import("node:fs/promises");
  await rm(join(home, "project"), { recursive: true });
}

describe("time and use", () => {
  it("a persistent sandbox that nobody uses, or whose first process dies, is stopped and not lost", async () => {
    const home = makeHome(onTestFinished);
    const { client, end } = await startGateway(home);
    const idle = await persistent(client, { idleMs: 1_000 });
    const state = async (sandbox: Sandbox) => {
      const info = await sandbox.refresh();
      return [info.state, info.pauseDepth];
    };
    await expect.poll(() => state(idle), SOON).toEqual(["paused", "disk"]);
    const doomed = await persistent(client);
    const { initPidOf } = await import("../security/host-view.ts");
    kill(initPidOf(`${home}/engine`, doomed.id), "SIGKILL");
    await expect.poll(() => state(doomed), SOON).toEqual(["paused", "disk"]);
    await doomed.start();
    expect(await sh(doomed, "cat ~/kept")).toBe("one\n");
    const ended = await persistent(client, { idleMs: 1_000, atEnd: "destroy" });
    await expect.poll(async () => (await ended.refresh()).state, SOON).toBe("expired");
    await idle.destroy();
    await expectOver(doomed, end, home);
  });

  it("the command line stops and starts, and an ephemeral one says why not", async () => {
    const home = makeHome(onTestFinished);
    const cli = cliOf(home);
    await cli.run(["create", "--name", "kept", "--persistent", "--ttl", "1m"]);
    await cli.run(["exec", "kept", "--", "sh", "-c", "echo one > kept"]);
    const stopped = JSON.parse((await cli.run(["stop", "kept", "--json"])).stdout);
    expect(stopped).toMatchObject({ state: "paused", pauseDepth: "disk" });
    expect(stopped.expiresAtMs - Date.now()).toBeGreaterThan(29 * 24 * 3_600_000);
    expect(await cli.run(["start", "kept"]), "named as it was").toMatchObject({ code: 0, stdout: "kept\n" });
    expect((await cli.run(["exec", "kept", "--", "cat", "kept"])).stdout).toBe("one\n");
    await cli.run(["create", "--name", "brief", "--ttl", "1m"]);
    const refused = await cli.run(["stop", "brief"]);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/only what is persistent can be stopped/);
    for (const name of ["kept", "brief"]) expect((await cli.run(["rm", name])).code).toBe(0);
    await expectNothingLeft(home);
  });
});
