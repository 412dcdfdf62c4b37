import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Sandbox } from "@sandboxer/sdk";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { startGateway } from "../faults/gateway-process.ts";
import { expectNothingLeft, makeHome } from "../faults/home.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const sh = async (sandbox: Sandbox, script: string) =>
  new TextDecoder().decode((await sandbox.run(["sh", "-c", script])).stdout);
const WRITE = "mkdir -p ~/deep; echo one > ~/deep/file; ln -s deep/file ~/link; chmod 700 ~/deep";
const LOOK = "cat ~/link; stat -c '%a %U' ~/deep; ls ~";
const SEEN = "one\n700 user\ndeep\nlink\n";
const layersOf = (home: string) => {
  const folder = join(home, "engine/layers");
  return existsSync(folder) ? readdirSync(folder) : [];
};

describe("what can be made of a stopped sandbox", () => {
  it("copies that share what it wrote, many at once, and snapshots of each", async () => {
    const home = makeHome(onTestFinished);
    const { client, end } = await startGateway(home);
    const parent = await client.sandboxes.create({ name: "parent", persistence: "persistent" });
    await sh(parent, WRITE);
    await parent.stop();
    await expect(parent.metrics(), "what does not run uses nothing").rejects.toMatchObject({
      code: "invalid_state",
      hint: "`sandboxer start parent` brings it back.",
    });
    const snapshot = await parent.snapshot({ name: "of-stopped" });
    expect((await parent.refresh()).pauseDepth, "it stays as it is").toBe("disk");
    const restored = await client.sandboxes.create({ from: "of-stopped" });
    expect(await sh(restored, LOOK)).toBe(SEEN);

    const copies = await parent.fork(3);
    expect(layersOf(home), "they share one layer").toHaveLength(1);
    expect(new Set(copies.map(({ id }) => id)).size).toBe(3);
    for (const copy of copies) {
      expect(copy.info.spec).toMatchObject({ forkOf: parent.id, persistence: "persistent" });
      expect(await sh(copy, LOOK)).toBe(SEEN);
    }
    const [one, two] = copies as [Sandbox, Sandbox, Sandbox];
    expect(await sh(one, "rm ~/link; echo two > ~/more; cat ~/deep/file")).toBe("one\n");
    expect(await sh(two, LOOK), "the others are as they were").toBe(SEEN);
    const all = await one.snapshot();
    expect(all.bytes).toBeGreaterThan(snapshot.bytes);
    const again = await client.sandboxes.create({ from: all.id });
    expect(await sh(again, "ls ~; cat ~/deep/file ~/more")).toBe("deep\nmore\none\ntwo\n");

    await one.stop();
    const [grandchild] = await one.fork(1);
    expect(await sh(grandchild as Sandbox, "ls ~; cat ~/more")).toBe("deep\nmore\ntwo\n");
    const { stored } = await client.store.list();
    const shared = stored.filter(({ kind }) => kind === "layer").map(({ usedBy }) => usedBy.length);
    expect(shared.sort(), "who lies on what").toEqual([2, 5]);
    expect(stored.find(({ id }) => id === parent.id)).toMatchObject({ kind: "sandbox", note: "stopped" });
    await parent.start();
    expect(await sh(parent, LOOK)).toBe(SEEN);
    await parent.destroy();
    expect(await sh(two, LOOK), "what somebody lies on stays").toBe(SEEN);
    for (const { id } of await client.snapshots.list()) await client.snapshots.delete(id);
    for await (const sandbox of client.sandboxes.all({ states: ["running", "paused"] }))
      await sandbox.destroy();
    expect(await end("SIGTERM")).toBe(0);
    await expect.poll(() => layersOf(home)).toEqual([]);
    await expectNothingLeft(home);
  });

  it("a snapshot that a checkpoint leaves when it stops", async () => {
    const home = makeHome(onTestFinished);
    const { client, end } = await startGateway(home);
    const sandbox = await client.sandboxes.create({ persistence: "checkpoint" });
    await sh(sandbox, WRITE);
    await sandbox.stop();
    const [checkpoint, ...more] = await client.snapshots.list();
    expect(more).toEqual([]);
    expect(checkpoint).toMatchObject({ labels: { checkpoint: sandbox.id }, sandboxId: sandbox.id });
    const back = await client.sandboxes.create({ from: checkpoint?.id ?? "" });
    expect(await sh(back, LOOK)).toBe(SEEN);
    const prunable = async () => (await client.store.prune({ dryRun: true })).stored.map(({ id }) => id);
    await sandbox.destroy();
    expect(await prunable(), "one that lives was made from it").toEqual([]);
    await back.destroy();
    expect(await prunable()).toEqual([checkpoint?.id]);
    expect(await client.snapshots.list(), "a dry run removes nothing").toHaveLength(1);
    expect((await client.store.prune()).stored).toHaveLength(1);
    expect(await client.snapshots.list()).toEqual([]);
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });
});
