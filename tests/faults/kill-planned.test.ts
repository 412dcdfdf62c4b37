import type { Client, Sandbox } from "@sandboxer/sdk";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { rowsOf } from "./books.ts";
import { expectDeathAt, startDoomed, startGateway } from "./gateway-process.ts";
import { expectNothingLeft, makeHome } from "./home.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const ONCE = { idempotencyKey: "one" };
const first = { name: "first", ttlMs: 60_000 };
const sh = async (sandbox: Sandbox, script: string) =>
  new TextDecoder().decode((await sandbox.run(["sh", "-c", script])).stdout);

/** Made by a gateway that lives, so that the next one dies in the verb and not before it. */
async function prepare(home: string, spec: object = {}): Promise<string> {
  const { client, end } = await startGateway(home);
  const sandbox = await client.sandboxes.create({ ...first, ...spec });
  await sh(sandbox, "echo one > ~/file");
  expect(await end("SIGTERM")).toBe(0);
  return sandbox.id;
}

async function finish(client: Client, end: (signal: NodeJS.Signals) => Promise<number | null>, home: string) {
  const { sandboxes } = await client.sandboxes.list({ states: ["running", "paused"] });
  for (const { id } of sandboxes) await (await client.sandboxes.get(id)).destroy();
  for (const { id } of await client.snapshots.list()) await client.snapshots.delete(id);
  expect(await end("SIGTERM")).toBe(0);
  await expectNothingLeft(home);
}

describe("kill -9 of the gateway, and the same idempotency key again", () => {
  it.each(["claim.planned", "snapshot.drafted", "snapshot.placed", "claim.done"])(
    "RE-1 at %s of a snapshot there is one for who asks again",
    async (place) => {
      const home = makeHome(onTestFinished);
      const id = await prepare(home);
      const doomed = await startDoomed(home, place);
      const sandbox = await doomed.client.sandboxes.get(id);
      await expectDeathAt(doomed, place, sandbox.snapshot({ name: "kept" }, ONCE));
      const { client, end } = await startGateway(home);
      const again = await client.sandboxes.get(id);
      const taken = await again.snapshot({ name: "kept" }, ONCE);
      expect((await again.snapshot({ name: "kept" }, ONCE)).id).toBe(taken.id);
      expect((await client.snapshots.list()).map((one) => one.id)).toEqual([taken.id]);
      await expect(again.snapshot({ name: "other" }, ONCE)).rejects.toMatchObject({
        code: "idempotency_mismatch",
      });
      await finish(client, end, home);
    },
  );

  it.each(["claim.planned", "snapshot.placed", "claim.done"])(
    "RE-1 RE-3 at %s of an import there is one for who asks again",
    async (place) => {
      const home = makeHome(onTestFinished);
      const { client: before, end: leave } = await startGateway(home);
      const sandbox = await before.sandboxes.create(first);
      const taken = await sandbox.snapshot();
      const parts: Uint8Array[] = [];
      for await (const part of await before.snapshots.export(taken.id)) parts.push(part);
      await before.snapshots.delete(taken.id);
      expect(await leave("SIGTERM")).toBe(0);

      const doomed = await startDoomed(home, place);
      const named = { name: "brought" };
      await expectDeathAt(doomed, place, doomed.client.snapshots.import(parts, named, ONCE));
      const { client, end } = await startGateway(home);
      const brought = await client.snapshots.import(parts, named, ONCE);
      expect((await client.snapshots.import(parts, named, ONCE)).id).toBe(brought.id);
      expect((await client.snapshots.list()).map((one) => one.id)).toEqual([brought.id]);
      await finish(client, end, home);
    },
  );

  it.each(["claim.planned", "snapshot.placed", "create.held", "create.made", "create.settled", "claim.done"])(
    "RE-1 at %s of a fork there are as many as were asked for",
    async (place) => {
      const home = makeHome(onTestFinished);
      // What is written to a workspace is copied by a snapshot only, on every store.
      const bySnapshot = place.startsWith("snapshot.");
      const id = await prepare(home, bySnapshot ? { workspace: { source: makeHome(onTestFinished) } } : {});
      const doomed = await startDoomed(home, place);
      const names = ["left", "right"];
      const sandbox = await doomed.client.sandboxes.get(id);
      await expectDeathAt(doomed, place, sandbox.fork({ names }, ONCE));
      const { client, end } = await startGateway(home);
      const again = await client.sandboxes.get(id);
      const made = await again.fork({ names }, ONCE);
      expect(made.map(({ info }) => info.name)).toEqual(names);
      expect((await again.fork({ names }, ONCE)).map((one) => one.id)).toEqual(made.map((one) => one.id));
      const living = rowsOf(home).filter(({ state }) => state === "running");
      expect(living).toHaveLength(3);
      for (const one of made) expect(await sh(one, "cat ~/file")).toBe("one\n");
      await finish(client, end, home);
    },
  );

  it.each([
    "claim.planned",
    "destroy.begun",
    "recreate.ended",
    "create.held",
    "create.settled",
    "claim.done",
  ])("RE-1 at %s of a recreate there is one, under the name of the first", async (place) => {
    const home = makeHome(onTestFinished);
    const id = await prepare(home);
    const doomed = await startDoomed(home, place);
    const sandbox = await doomed.client.sandboxes.get(id);
    await expectDeathAt(doomed, place, sandbox.recreate(ONCE));
    const { client, end } = await startGateway(home);
    const anew = await (await client.sandboxes.get(id)).recreate(ONCE);
    expect(anew.id).not.toBe(id);
    expect((await (await client.sandboxes.get(id)).recreate(ONCE)).id).toBe(anew.id);
    const { sandboxes } = await client.sandboxes.list({ states: ["running", "paused", "provisioning"] });
    expect(sandboxes.map((one) => [one.id, one.info.name])).toEqual([[anew.id, "first"]]);
    expect(await sh(anew, "cat ~/file || echo new")).toBe("new\n");
    await finish(client, end, home);
  });
});
