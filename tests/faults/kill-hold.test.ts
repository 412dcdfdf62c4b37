import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { cliOf, firstLine } from "../e2e/cli-process.ts";
import { initPidOf } from "../security/host-view.ts";
import { eventsOf, rowsOf } from "./books.ts";
import { takeCensus } from "./census.ts";
import { startGateway } from "./gateway-process.ts";
import { endHold, expectNothingLeft, kill, makeHome } from "./home.ts";
import { holdOf, isAlive } from "./processes.ts";

const { describe, given } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const SOON = { timeout: 60_000, interval: 20 };
const text = ({ stdout }: { stdout: Uint8Array }) => new TextDecoder().decode(stdout);

describe("kill -9 of hold", () => {
  // boxd's own tests prove that these are all there are.
  const MAKING = ["folder", "process", "record", "go", "started"];
  const ENDING = ["signalled", "buried", "swept"];

  it.each([...MAKING, ...ENDING])("RE-4 at `%s` is survived by a gateway that goes on", async (place) => {
    const home = makeHome(onTestFinished);
    execFileSync(given.boxd.path, ["hold", "--dir", `${home}/engine`, "--die-at", place]);
    const doomed = holdOf(home) ?? 0;
    // With none made ahead, what hold has is what somebody asked for.
    const { client, end } = await startGateway(home, { SANDBOXER_POOL: "0" });
    const first = await client.sandboxes.create({ ttlMs: 60_000 }).catch((error) => error as Error);
    if (ENDING.includes(place) && !(first instanceof Error)) await first.destroy();
    await expect.poll(() => isAlive(doomed), SOON).toBe(false);
    await expect.poll(() => holdOf(home) ?? 0, SOON).toBeGreaterThan(0);

    const second = await client.sandboxes.create({ ttlMs: 60_000 });
    expect(text(await second.run(["echo", "on"]))).toBe("on\n");
    const listed = (await client.sandboxes.list({ states: ["running"] })).sandboxes.map(({ id }) => id);
    // What the dead one left is cleared away by the next, on its own time.
    await expect.poll(() => readdirSync(`${home}/engine/boxes`).sort(), SOON).toEqual(listed.sort());
    for (const id of listed) await (await client.sandboxes.get(id)).destroy();
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it("RE-4 while sandboxes idle and work: nothing they do stops, and their end still comes", async () => {
    const home = makeHome(onTestFinished);
    const { client, end } = await startGateway(home);
    const sandbox = await client.sandboxes.create({ ttlMs: 60_000 });
    const brief = await client.sandboxes.create({ ttlMs: 4_000 });
    const script = "echo before; read go; echo after";
    const process = await sandbox.exec({ argv: ["sh", "-c", script], stdin: true });
    const first = holdOf(home) ?? 0;
    await endHold(home, "SIGKILL");
    // Nobody asks for it: the gateway itself sees to the next one.
    await expect.poll(() => holdOf(home) ?? first, SOON).not.toBe(first);
    await process.writeStdin(new TextEncoder().encode("go\n"));
    let output = "";
    for await (const event of process.events) {
      if (event.type === "stdout") output += new TextDecoder().decode(event.data);
    }
    expect(output).toBe("before\nafter\n");
    expect((await sandbox.refresh()).state).toBe("running");
    await expect.poll(async () => (await brief.refresh()).state, SOON).toBe("expired");
    const { endedAtMs = 0, expiresAtMs = 0 } = brief.info;
    expect(endedAtMs, "and not before its time").toBeGreaterThanOrEqual(expiresAtMs);
    await sandbox.destroy();
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it("RE-4 together with a sandbox: no row goes on running", async () => {
    const home = makeHome(onTestFinished);
    const { client, end } = await startGateway(home);
    const [dead, alive] = [await client.sandboxes.create(), await client.sandboxes.create()];
    const init = initPidOf(`${home}/engine`, dead.id);
    kill(holdOf(home) ?? 0, "SIGKILL");
    kill(init, "SIGKILL");
    await expect.poll(async () => (await dead.refresh()).state, SOON).toBe("lost");
    expect(text(await alive.run(["echo", "on"]))).toBe("on\n");
    await alive.destroy();
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });
});

describe("a sandbox that dies by itself", () => {
  it("RE-4 RE-8 is lost within moments: its meter stops, an event says so, whoever waits hears of it", async () => {
    const home = makeHome(onTestFinished);
    const { client, end } = await startGateway(home);
    const sandbox = await client.sandboxes.create();
    const waiting = sandbox.run(["sleep", "50"]).catch((error) => error.code);
    await expect
      .poll(() => takeCensus(home).processes.some((line) => line.includes("sleep 50")), SOON)
      .toBe(true);
    kill(initPidOf(`${home}/engine`, sandbox.id), "SIGKILL");
    expect(await waiting).toBe("sandbox_gone");
    await expect.poll(async () => (await sandbox.refresh()).state, SOON).toBe("lost");
    expect(eventsOf(home).filter(({ type }) => type === "sandbox.lost")).toHaveLength(1);
    expect(takeCensus(home)).toMatchObject({ money: [], rows: [] });
    expect((await sandbox.destroy()).state, "an end is an end").toBe("lost");
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });
});

describe("time and gateways that are not there", () => {
  it("RE-9 a sandbox ends on time without a gateway, and its row says so soon after the next start", async () => {
    const home = makeHome(onTestFinished);
    const first = await startGateway(home);
    // Long enough for this gateway to be killed before it sees the end itself.
    const sandbox = await first.client.sandboxes.create({ ttlMs: 6_000 });
    await first.end("SIGKILL");
    expect(existsSync(`${home}/engine/boxes/${sandbox.id}`), "control: it lives on").toBe(true);
    await expect.poll(() => readdirSync(`${home}/engine/boxes`), SOON).toEqual([]);
    expect(rowsOf(home).map(({ state }) => state)).toEqual(["running"]);
    const second = await startGateway(home);
    expect((await second.client.sandboxes.get(sandbox.id)).info.state).toBe("expired");
    expect(await second.end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it("RE-9 with hold gone as well, it is ended by the next start", async () => {
    const home = makeHome(onTestFinished);
    const first = await startGateway(home);
    const sandbox = await first.client.sandboxes.create({ ttlMs: 6_000 });
    await first.end("SIGKILL");
    await endHold(home, "SIGKILL");
    await expect.poll(() => Date.now(), SOON).toBeGreaterThan((sandbox.info.expiresAtMs ?? 0) + 100);
    expect(isAlive(initPidOf(`${home}/engine`, sandbox.id)), "control: nobody ended it").toBe(true);
    const second = await startGateway(home);
    await expect
      .poll(async () => (await second.client.sandboxes.get(sandbox.id)).info.state, SOON)
      .toBe("expired");
    expect(await second.end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it("RE-1 `run` that is killed takes its sandbox along", async () => {
    const home = makeHome(onTestFinished);
    const run = cliOf(home).start(["run", "--", "sh", "-c", "echo up; sleep 50"]);
    expect(await firstLine(run)).toBe("up");
    const exited = once(run, "exit");
    expect(takeCensus(home).processes.join(), "control: the census sees it").toContain("sleep 50");
    run.kill("SIGKILL");
    await exited;
    await expect.poll(() => readdirSync(`${home}/engine/boxes`), SOON).toEqual([]);
    const ofHold = /boxd (hold|disks|waiting) /;
    await expect
      .poll(() => takeCensus(home).processes.filter((line) => !ofHold.test(line)), SOON)
      .toEqual([]);
    // The next command of any kind settles the row.
    await cliOf(home).run(["ls"]);
    expect(rowsOf(home).map(({ state }) => state)).toEqual(["lost"]);
    await expectNothingLeft(home);
  });
});
