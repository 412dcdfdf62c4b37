import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Sandbox } from "@sandboxer/sdk";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { rowsOf } from "./books.ts";
import { expectDeathAt, startDoomed, startGateway } from "./gateway-process.ts";
import { expectNothingLeft, makeHome } from "./home.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const sh = async (sandbox: Sandbox, script: string) =>
  new TextDecoder().decode((await sandbox.run(["sh", "-c", script])).stdout);
const drafts = (home: string) => readdirSync(join(home, "snapshots")).filter((name) => /new|old/.test(name));

describe("kill -9 of the gateway", () => {
  it.each(["snapshot.drafted", "snapshot.placed"])(
    "RE-1 at %s leaves the snapshot or none",
    async (place) => {
      const home = makeHome(onTestFinished);
      const doomed = await startDoomed(home, place);
      const { id } = await doomed.client.sandboxes.create({ ttlMs: 60_000 });
      await sh(await doomed.client.sandboxes.get(id), "echo one > ~/file");
      await expectDeathAt(
        doomed,
        place,
        doomed.client.sandboxes.get(id).then((one) => one.snapshot()),
      );
      const { client, end } = await startGateway(home);
      const found = await client.snapshots.list();
      expect(found).toHaveLength(place === "snapshot.placed" ? 1 : 0);
      expect(drafts(home)).toEqual([]);
      const source = await client.sandboxes.get(id);
      expect(await sh(source, "cat ~/file"), "it goes on").toBe("one\n");
      for (const snapshot of found) {
        const restored = await client.sandboxes.create({ from: snapshot.id });
        expect(await sh(restored, "cat ~/file")).toBe("one\n");
        await restored.destroy();
        await client.snapshots.delete(snapshot.id);
      }
      await source.destroy();
      expect(await end("SIGTERM")).toBe(0);
      await expectNothingLeft(home);
    },
  );

  it.each(["restore.begun", "restore.done"])("RE-1 at %s leaves no half-made sandbox", async (place) => {
    const home = makeHome(onTestFinished);
    const first = await startGateway(home);
    const source = await first.client.sandboxes.create({ ttlMs: 60_000 });
    await sh(source, "echo one > ~/file");
    const { id: from } = await source.snapshot({ name: "base" });
    await source.destroy();
    expect(await first.end("SIGTERM")).toBe(0);
    const doomed = await startDoomed(home, place);
    await expectDeathAt(doomed, place, doomed.client.sandboxes.create({ from }));
    const { client, end } = await startGateway(home);
    const unsettled = rowsOf(home).filter(({ state }) => state !== "destroyed" && state !== "failed");
    expect(unsettled).toEqual([]);
    const restored = await client.sandboxes.create({ from });
    expect(await sh(restored, "cat ~/file")).toBe("one\n");
    await restored.destroy();
    await client.snapshots.delete(from);
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it("RE-1 at fork.frozen leaves the sandbox with its files, and no copy", async () => {
    const home = makeHome(onTestFinished);
    const doomed = await startDoomed(home, "fork.frozen");
    const first = await doomed.client.sandboxes.create({ ttlMs: 60_000, persistence: "persistent" });
    await sh(first, "echo one > ~/file");
    await first.stop();
    await expectDeathAt(doomed, "fork.frozen", first.fork(2));
    const { client, end } = await startGateway(home);
    const { sandboxes } = await client.sandboxes.list({ states: ["running", "paused", "provisioning"] });
    expect(sandboxes.map(({ id }) => id)).toEqual([first.id]);
    const sandbox = await client.sandboxes.get(first.id);
    const [copy] = await sandbox.fork(1);
    expect(await sh(copy as Sandbox, "cat ~/file")).toBe("one\n");
    await sandbox.start();
    expect(await sh(sandbox, "cat ~/file")).toBe("one\n");
    for (const one of [sandbox, copy as Sandbox]) await one.destroy();
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });
});
