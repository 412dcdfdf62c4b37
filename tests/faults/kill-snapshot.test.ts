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

  /** A home with a snapshot of its own, and that as one file; then without it. */
  const exported = async (home: string): Promise<Uint8Array[]> => {
    const { client, end } = await startGateway(home);
    const source = await client.sandboxes.create({ ttlMs: 60_000 });
    await sh(source, "echo one > ~/file; head -c 6000000 /dev/urandom > ~/large");
    const { id } = await source.snapshot();
    await source.destroy();
    const parts: Uint8Array[] = [];
    for await (const part of await client.snapshots.export(id)) parts.push(part);
    await client.snapshots.delete(id);
    expect(await end("SIGTERM")).toBe(0);
    return parts;
  };
  /** What is there after the next start, which must be all of it or nothing; then it is taken in anew. */
  const expectWholeOrNone = async (home: string, count: number, parts: Uint8Array[]) => {
    const { client, end } = await startGateway(home);
    const found = await client.snapshots.list();
    expect(found).toHaveLength(count);
    expect(drafts(home)).toEqual([]);
    const again = await client.snapshots.import(parts);
    for (const { id } of [...found, again]) {
      const restored = await client.sandboxes.create({ from: id });
      expect(await sh(restored, "cat ~/file; wc -c < ~/large")).toBe("one\n6000000\n");
      await restored.destroy();
      await client.snapshots.delete(id);
    }
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  };

  it.each([
    ["snapshot.drafted", 0],
    ["snapshot.placed", 1],
  ] as const)("RE-3 at %s of an import leaves the snapshot or none", async (place, count) => {
    const home = makeHome(onTestFinished);
    const parts = await exported(home);
    const doomed = await startDoomed(home, place);
    await expectDeathAt(doomed, place, doomed.client.snapshots.import(parts));
    await expectWholeOrNone(home, count, parts);
  });

  it("RE-3 while an import comes in leaves nothing of it", async () => {
    const home = makeHome(onTestFinished);
    const parts = await exported(home);
    const gateway = await startGateway(home);
    const over = new AbortController();
    async function* half() {
      const all = Buffer.concat(parts);
      // More than a client sends in one piece.
      for (let at = 0; at < all.length / 2 + 65_536; at += 65_536) yield all.subarray(at, at + 65_536);
      // The rest does not come while anybody listens.
      await new Promise((resolve) => over.signal.addEventListener("abort", resolve, { once: true }));
    }
    const coming = gateway.client.snapshots.import(half()).catch((error) => error);
    await expect.poll(() => drafts(home), { timeout: 60_000 }).not.toEqual([]);
    await gateway.end("SIGKILL");
    over.abort();
    expect(await coming).toBeInstanceOf(Error);
    expect(drafts(home), "control: it was in the middle").not.toEqual([]);
    await expectWholeOrNone(home, 0, parts);
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
