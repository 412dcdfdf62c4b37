import { join } from "node:path";
import type { Manifest } from "@sandboxer/contract";
import { describe, expect, it, onTestFinished } from "vitest";
import { auditBooks } from "../../test/books.ts";
import { openers } from "../../test/gateway.ts";
import { until } from "../../test/outcomes.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";
import { systemClock } from "../clock.ts";
import { createCore } from "../create-core.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);

/** At this price a micro-dollar is a millisecond of a sandbox that runs. */
async function openPausing(price: Partial<Manifest["price"]>, options = {}) {
  const path = join(temporaryFolder(), "store.db");
  const plain = createPlainExtension(temporaryFolder(), {
    facets: ["pause"],
    price: { basis: "provisioned", microUsdPerHour: 3_600_000, ...price },
  });
  const { store, principal } = await openGateway([plain], openStore(path));
  let nowMs = 1_000_000;
  const clock = { ...systemClock, nowMs: () => nowMs };
  const core = await createCore({ store, extensions: [plain], clock, ...options });
  onTestFinished(() => core.close());
  onTestFinished(() => auditBooks(path));
  const wait = (ms: number): void => {
    nowMs += ms;
  };
  return { core, store, principal, wait };
}

describe("a pause", () => {
  it.for([
    [undefined, 1_000 + 4_000 + 2_000],
    [1_800_000, 1_000 + 2_000 + 2_000],
    [0, 1_000 + 2_000],
  ] as const)("at %s an hour makes it cost %i", async ([pausedMicroUsdPerHour, costMicroUsd]) => {
    const price = pausedMicroUsdPerHour === undefined ? {} : { pausedMicroUsdPerHour };
    const { core, principal, wait } = await openPausing(price);
    const { id } = await core.create(principal, { ttlMs: 60_000 });
    wait(1_000);
    await core.pause(principal, id);
    wait(4_000);
    expect((await core.getBudget(principal)).heldMicroUsd, "going on never fails for money").toBe(59_000);
    await core.resume(principal, id);
    wait(2_000);
    expect(await core.destroy(principal, id)).toMatchObject({ costMicroUsd });
    const { cost } = await core.receipt(principal, id);
    expect(cost).toMatchObject({ chargedMicroUsd: costMicroUsd, heldMicroUsd: 0, ...price });
    expect(cost.intervals.map(({ fromMs, toMs }) => toMs - fromMs)).toEqual([1_000, 4_000, 2_000]);
  });

  it("is charged at its own rate when it ends there, and when a clock went back", async () => {
    const { core, principal, wait } = await openPausing({ pausedMicroUsdPerHour: 360_000 });
    const [one, two] = [
      await core.create(principal, { ttlMs: 60_000 }),
      await core.create(principal, { ttlMs: 60_000 }),
    ];
    wait(1_000);
    for (const { id } of [one, two]) await core.pause(principal, id);
    wait(10_000);
    expect((await core.destroy(principal, one.id)).costMicroUsd).toBe(1_000 + 1_000);
    wait(-20_000);
    await core.resume(principal, two.id);
    expect((await core.destroy(principal, two.id)).costMicroUsd).toBe(1_000);
  });
});

it("warns, waits, pauses and ends what its budget no longer renews, unless it is raised in time", async () => {
  const { core, store, principal, wait } = await openPausing(
    { pausedMicroUsdPerHour: 0 },
    { holdSliceMs: 3_000 },
  );
  await core.start();
  await core.setBudget(principal, { limitMicroUsd: 6_100 });
  const ids: string[] = [];
  for (let made = 0; made < 2; made++) ids.push((await core.create(principal, { ttlMs: 60_000 })).id);
  const states = async () =>
    (await Promise.all(ids.map(async (id) => (await core.get(principal, id)).state))).sort().join();
  const warnings = async () =>
    (await store.listEvents(principal.orgId, 0, 50)).filter(({ type }) => type === "budget.exhausted").length;
  wait(2_600);
  await until(async () => (await warnings()) === 2);
  expect(await states(), "a grace").toBe("running,running");
  wait(200);
  await until(async () => (await states()) === "paused,paused");
  await core.setBudget(principal, { limitMicroUsd: 9_500 });
  await until(async () => (await states()) === "paused,running");
  wait(300);
  await until(async () => (await states()) === "destroyed,running");
  const events = await store.listEvents(principal.orgId, 0, 50);
  const storyOf = async (state: "destroyed" | "running") => {
    const [one] = (await core.list(principal, { states: [state] })).sandboxes;
    return events.filter(({ sandboxId }) => sandboxId === one?.id).map(({ type }) => type);
  };
  const born = ["sandbox.requested", "sandbox.created", "budget.exhausted", "sandbox.paused"];
  expect(await storyOf("destroyed")).toEqual([...born, "sandbox.destroying", "sandbox.destroyed"]);
  expect(await storyOf("running")).toEqual([...born, "sandbox.resumed"]);
});
