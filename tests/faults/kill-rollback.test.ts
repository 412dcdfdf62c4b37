import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox } from "@sandboxer/sdk";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { expectDeathAt, startDoomed, startGateway } from "./gateway-process.ts";
import { endHold, expectNothingLeft, makeHome } from "./home.ts";

const { describe, given } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 90_000 });

const sh = async (sandbox: Sandbox, script: string) =>
  new TextDecoder().decode((await sandbox.run(["sh", "-c", script])).stdout);
/** All of the workspace, in one line each. */
const SEEN = "find . -type f | sort | xargs grep -H ''; find . -type d | sort";
const FIRST = "for i in $(seq 200); do echo $i > f$i; done; mkdir d; echo 1 > d/x; rm notes";
const SECOND = "for i in $(seq 200); do echo x > f$i; done; rm -r d; echo 2 > d; echo 2 > notes";

function makeProject(): { home: string; project: string } {
  const home = makeHome(onTestFinished);
  const project = mkdtempSync(join(tmpdir(), "sandboxer-project-"));
  onTestFinished(() => rmSync(project, { recursive: true }));
  mkdirSync(join(project, "src"));
  writeFileSync(join(project, "notes"), "host\n");
  writeFileSync(join(project, "src/main"), "host\n");
  return { home, project };
}

/** The sandbox before and after the second of two runs. */
async function worked(sandbox: Sandbox) {
  await sh(sandbox, FIRST);
  const before = await sh(sandbox, SEEN);
  await sh(sandbox, SECOND);
  const after = await sh(sandbox, SEEN);
  const { points } = await sandbox.workspace.points();
  // Looking shares the point of what is run next.
  const [, second, third] = points.map(({ point }) => point);
  return { before, after, second: second ?? 0, third };
}

/** Whoever began it is gone, and it goes on. */
async function settled(sandbox: Sandbox): Promise<number> {
  let count = -1;
  const ask = async () => {
    count = (await sandbox.workspace.points()).points.length;
    return true;
  };
  await expect.poll(() => ask().catch(({ code }) => code), { timeout: 30_000, interval: 20 }).toBe(true);
  return count;
}

describe("kill -9 while a workspace is rolled back", () => {
  it("RE-1 at rollback.done leaves what was asked for", async () => {
    const { home, project } = makeProject();
    const doomed = await startDoomed(home, "rollback.done");
    const first = await doomed.client.sandboxes.create({ workspace: { source: project } });
    const { before, second } = await worked(first);
    await expectDeathAt(doomed, "rollback.done", first.workspace.rollback({ to: second }));
    const { client, end } = await startGateway(home);
    const sandbox = await client.sandboxes.get(first.id);
    expect(await sh(sandbox, SEEN)).toBe(before);
    await sandbox.destroy();
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it("RE-1 of the gateway in the middle leaves the old or the new, and never a part", async () => {
    const { home, project } = makeProject();
    let gateway = await startGateway(home);
    const { id } = await gateway.client.sandboxes.create({ workspace: { source: project } });
    for (let round = 0; round < 3; round++) {
      const first = await gateway.client.sandboxes.get(id);
      await first.workspace.rollback();
      const { before, after, second } = await worked(first);
      const asked = first.workspace.rollback({ to: second }).catch(() => {});
      if (round > 0) await new Promise((resolve) => setTimeout(resolve, round * 3));
      await gateway.end("SIGKILL");
      await asked;
      gateway = await startGateway(home);
      const sandbox = await gateway.client.sandboxes.get(id);
      const left = await settled(sandbox);
      expect(await sh(sandbox, SEEN)).toBe(left === 1 ? before : after);
    }
    await (await gateway.client.sandboxes.get(id)).destroy();
    expect(await gateway.end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it.each(["undoing", "cleared", "undone"])(
    "RE-1 of the first process at `%s`: its next life begins where it was going",
    async (place) => {
      const { home, project } = makeProject();
      const making = await startGateway(home);
      const persistent = { workspace: { source: project }, persistence: "persistent" } as const;
      const first = await making.client.sandboxes.create(persistent);
      const { before, second } = await worked(first);
      await first.stop();
      expect(await making.end("SIGTERM")).toBe(0);
      await endHold(home, "SIGTERM");

      execFileSync(given.boxd.path, ["hold", "--dir", `${home}/engine`, "--die-at", place]);
      const dying = await startGateway(home);
      const doomed = await dying.client.sandboxes.get(first.id);
      await doomed.start();
      await expect(doomed.workspace.rollback({ to: second })).rejects.toMatchObject({
        code: expect.stringMatching(/^(invalid_state|sandbox_gone|extension_unavailable|not_found)$/),
      });
      await expect.poll(async () => (await doomed.refresh()).state, { timeout: 30_000 }).toBe("paused");
      expect(await dying.end("SIGTERM")).toBe(0);
      await endHold(home, "SIGTERM");

      const { client, end } = await startGateway(home);
      const sandbox = await client.sandboxes.get(first.id);
      await sandbox.start();
      expect((await sandbox.workspace.points()).points).toHaveLength(1);
      expect(await sh(sandbox, SEEN)).toBe(before);
      await sandbox.destroy();
      expect(await end("SIGTERM")).toBe(0);
        await expectNothingLeft(home);
    },
  );
});
