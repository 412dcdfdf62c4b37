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
});
