import { setTimeout as sleep } from "node:timers/promises";
import { Sandbox } from "e2b";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

const PAUSES = { lifecycle: { onTimeout: "pause" } } as const;

describe("what E2B's clients left to a gateway that ended", () => {
  let door: Door;

  beforeAll(async () => {
    door = await openDoor();
  });
  afterAll(() => door?.close());

  const root = () => door.gateway.core.authenticate(door.gateway.apiKey);
  /** As the house sees it: no client asks, so nothing reminds the door of it. */
  const stateOf = async ({ sandboxId }: Sandbox) =>
    (await door.gateway.core.get(await root(), sandboxId)).state;
  const restart = async (meanwhile: () => Promise<unknown> = async () => {}) => {
    await door.gateway.close();
    await meanwhile();
    door = await openDoor(door.home);
  };

  it("sleeps at its end, whether that comes while no gateway runs or after the next has started", async () => {
    const gone = await Sandbox.create("base", { ...door.options, ...PAUSES, timeoutMs: 2_000 });
    const stops = { onTimeout: { action: "pause", keepMemory: false } } as const;
    const laid = await Sandbox.create("base", { ...door.options, lifecycle: stops, timeoutMs: 2_000 });
    const later = await Sandbox.create("base", { ...door.options, ...PAUSES, timeoutMs: 12_000 });
    const { core } = door.gateway;
    const ends = (await core.get(await root(), laid.sandboxId)).createdAtMs + 3_000;
    await restart(() => sleep(Math.max(0, ends - Date.now())));
    for (const sandbox of [gone, laid, later]) {
      await expect.poll(() => stateOf(sandbox), { timeout: 90_000 }).toBe("paused");
    }
    for (const { sandboxId } of [gone, laid, later]) {
      const again = await Sandbox.connect(sandboxId, door.options);
      expect((await again.commands.run("echo here")).stdout).toBe("here\n");
      expect(await again.kill()).toBe(true);
    }
  });

  it("is read by the addresses that were signed before, by whomever they were signed", async () => {
    const { core } = door.gateway;
    const { apiKey } = await core.createKey(await root(), { name: "signs" });
    const made = await Sandbox.create("base", { ...door.options, apiKey });
    await made.files.write("kept", "still here");
    const above = await Sandbox.connect(made.sandboxId, door.options);
    const signed = [await made.downloadUrl("kept"), await above.downloadUrl("kept")];
    await restart();
    const read = async (url: string) => fetch(new URL(url.slice(new URL(url).origin.length), door.url));
    for (const url of signed) expect(await (await read(url)).text()).toBe("still here");
    const other = await read(signed[0]?.replace("path=kept", "path=other") ?? "");
    expect([other.status, await other.json()]).toEqual([401, { code: 401, message: "invalid signature" }]);
    await Sandbox.kill(made.sandboxId, door.options);
    await restart();
    expect((await read(signed[0] ?? "")).status).toBe(401);
  });
});
