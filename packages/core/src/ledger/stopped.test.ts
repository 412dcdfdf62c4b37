import { join } from "node:path";
import { DEFAULT_KEEP_MS } from "@sandboxer/contract";
import { describe, expect, it, onTestFinished } from "vitest";
import { auditBooks } from "../../test/books.ts";
import { openers } from "../../test/gateway.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";
import { systemClock } from "../clock.ts";
import { createCore } from "../create-core.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);

/** At this price a micro-dollar is a millisecond of a sandbox that runs. */
async function openStopping() {
  const path = join(temporaryFolder(), "store.db");
  const plain = createPlainExtension(temporaryFolder(), {
    facets: ["pause", "stop"],
    persistence: ["ephemeral", "persistent"],
    price: { basis: "provisioned", microUsdPerHour: 3_600_000, pausedMicroUsdPerHour: 360_000 },
  });
  const { store, principal } = await openGateway([plain], openStore(path));
  let nowMs = 1_000_000;
  const clock = { ...systemClock, nowMs: () => nowMs };
  const core = await createCore({ store, extensions: [plain], clock });
  onTestFinished(() => core.close());
  onTestFinished(() => auditBooks(path));
  const wait = (ms: number): void => {
    nowMs += ms;
  };
  return { core, principal, wait, now: () => nowMs };
}

const persistent = { persistence: "persistent", ttlMs: 60_000 } as const;

describe("a stop", () => {
  it("is charged as a pause is, holds no more than that, and its time begins anew with the start", async () => {
    const { core, principal, wait, now } = await openStopping();
    const { id } = await core.create(principal, persistent);
    wait(1_000);
    const stopped = await core.stop(principal, id);
    expect(stopped).toMatchObject({
      state: "paused",
      pauseDepth: "disk",
      expiresAtMs: now() + DEFAULT_KEEP_MS,
    });
    wait(4_000);
    expect(await core.stop(principal, id), "once more").toEqual(stopped);
    const started = await core.resume(principal, id);
    expect(started).toMatchObject({ state: "running", expiresAtMs: now() + 60_000 });
    expect(started.pauseDepth).toBeUndefined();
    wait(2_000);
    const costMicroUsd = 1_000 + 400 + 2_000;
    expect(await core.destroy(principal, id)).toMatchObject({ costMicroUsd });
    const types = (await core.listEvents(principal)).map(({ type, data }) => [type, data.depth]);
    expect(types).toContainEqual(["sandbox.paused", "disk"]);
    expect(types).toContainEqual(["sandbox.resumed", "disk"]);
  });

  it("of what is ephemeral is refused unless it is to be kept: then until the end it had, and no longer", async () => {
    const { core, principal, wait, now } = await openStopping();
    const { id, expiresAtMs } = await core.create(principal, { ttlMs: 60_000 });
    await expect(core.stop(principal, id)).rejects.toMatchObject({ code: "unsupported" });
    wait(1_000);
    const stopped = await core.stop(principal, id, { keepsEphemeral: true });
    expect(stopped).toMatchObject({ state: "paused", pauseDepth: "disk", expiresAtMs });
    wait(4_000);
    expect(await core.resume(principal, id)).toMatchObject({ state: "running", expiresAtMs });
    expect(expiresAtMs).toBe(now() + 55_000);
    expect(await core.destroy(principal, id)).toMatchObject({ costMicroUsd: 1_000 + 400 });
  });

  it("ends by a destroy without a start, and is no way around a budget", async () => {
    const { core, principal, wait } = await openStopping();
    const { id } = await core.create(principal, { ...persistent, budgetMicroUsd: 61_000 });
    wait(10_000);
    await core.pause(principal, id);
    await core.stop(principal, id);
    await expect(core.resume(principal, id)).rejects.toMatchObject({ code: "budget_exceeded" });
    expect(await core.get(principal, id)).toMatchObject({ state: "paused", pauseDepth: "disk" });
    expect(await core.destroy(principal, id)).toMatchObject({ state: "destroyed", costMicroUsd: 10_000 });
  });

  it("is not cut short by asking for more time", async () => {
    const { core, principal, now } = await openStopping();
    const { id } = await core.create(principal, { ...persistent, name: "kept" });
    const { expiresAtMs } = await core.stop(principal, id);
    await expect(core.extend(principal, id, { ttlMs: 3_600_000 })).rejects.toMatchObject({
      code: "invalid_state",
      hint: expect.stringContaining("sandboxer start kept"),
    });
    expect((await core.get(principal, id)).expiresAtMs).toBe(expiresAtMs);
    const brief = await core.create(principal, { ...persistent, keepMs: 60_000 });
    await core.stop(principal, brief.id);
    expect((await core.extend(principal, brief.id, { ttlMs: 90_000 })).expiresAtMs).toBe(now() + 90_000);
  });

  it("is refused for what is ephemeral, and nothing ephemeral is kept", async () => {
    const { core, principal } = await openStopping();
    const { id } = await core.create(principal, { ttlMs: 60_000 });
    await expect(core.stop(principal, id)).rejects.toMatchObject({ code: "unsupported" });
    const asked = core.create(principal, { ttlMs: 60_000, keepMs: 60_000 });
    await expect(asked).rejects.toMatchObject({ code: "invalid_request" });
    const refused = core.create(principal, { persistence: "checkpoint" });
    await expect(refused).rejects.toMatchObject({ code: "no_candidate" });
  });
});
