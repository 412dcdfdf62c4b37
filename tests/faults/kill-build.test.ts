import { Template } from "e2b";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { expectDeathAt, type GatewayProcess, startDoomed, startGateway } from "./gateway-process.ts";
import { expectNothingLeft, makeHome } from "./home.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 180_000 });

const LIVING = ["provisioning", "running", "paused"] as const;
const PATIENCE = { timeout: 60_000, interval: 100 };

const optionsOf = ({ url, apiKey }: GatewayProcess) => ({ apiKey, apiUrl: url, sandboxUrl: url });
const livingOf = async ({ client }: GatewayProcess) => {
  const found = [];
  for await (const { id } of client.sandboxes.all({ states: LIVING })) found.push(id);
  return found;
};

/** What E2B's client hears of a build after the gateway that made it was killed; nothing of it is left. */
async function expectCutOff(home: string, build: Parameters<typeof Template.getBuildStatus>[0]) {
  const next = await startGateway(home);
  const told = await Template.getBuildStatus(build, optionsOf(next));
  expect(told).toMatchObject({
    status: "error",
    reason: { message: expect.stringContaining("the gateway ended") },
  });
  await expect.poll(() => livingOf(next), PATIENCE).toEqual([]);
  await expect.poll(async () => (await next.client.snapshots.list()).length, PATIENCE).toBe(0);
  expect(await Template.exists("cut", optionsOf(next))).toBe(false);
  expect(await next.end("SIGTERM")).toBe(0);
  // The one after that says the same.
  const last = await startGateway(home);
  expect(await Template.getBuildStatus(build, optionsOf(last))).toMatchObject({ status: "error" });
  expect(await last.end("SIGTERM")).toBe(0);
  await expectNothingLeft(home);
}

describe("kill -9 of the gateway during a build of E2B's", () => {
  it("RE-1 in a step leaves a build that failed, with a reason, and no sandbox", async () => {
    const home = makeHome(onTestFinished);
    const first = await startGateway(home);
    const template = Template().fromBaseImage().runCmd("sleep 600");
    const build = await Template.buildInBackground(template, "cut", optionsOf(first));
    await expect.poll(() => livingOf(first), PATIENCE).toHaveLength(1);
    expect(await Template.getBuildStatus(build, optionsOf(first))).toMatchObject({ status: "building" });
    expect(await first.end("SIGKILL")).toBe(null);
    await expectCutOff(home, build);
  });

  it("RE-1 at snapshot.placed leaves no snapshot that no template is made of", async () => {
    const home = makeHome(onTestFinished);
    const doomed = await startDoomed(home, "snapshot.placed");
    const template = Template().fromBaseImage().runCmd("echo one > ~/file");
    const build = await Template.buildInBackground(template, "cut", optionsOf(doomed));
    await expectDeathAt(doomed, "snapshot.placed", Promise.resolve());
    await expectCutOff(home, build);
  });
});
