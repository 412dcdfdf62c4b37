import { join } from "node:path";
import type { Extension } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { stillHeld, until } from "../../test/outcomes.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";
import { createCore, createRootKey } from "../index.ts";

const { openStore, temporaryFolder } = openers(onTestFinished);

const HOUR_MS = 3_600_000;
/** An hour ahead is also what a suspended machine finds when it goes on: the monotonic clock stood still. */
const JUMPS = {
  "an hour ahead": HOUR_MS,
  "an hour back": -HOUR_MS,
  "a day back": -24 * HOUR_MS,
  "a leap second back": -1_000,
};

/** A wall clock that can be set, beside a monotonic one that cannot. */
async function openWithClock() {
  let offsetMs = 0;
  const clock = { nowMs: () => Date.now() + offsetMs, monotonicMs: () => performance.now() };
  const store = openStore();
  const plain = createPlainExtension(join(temporaryFolder(), "plain"), {
    price: { basis: "provisioned", microUsdPerHour: HOUR_MS },
  });
  const ends = new Map<string, number>();
  /** A backend that counts without the wall, and tells what the wall will show then. */
  const steady: Extension = {
    ...plain,
    async create(spec, context) {
      ends.set(context.sandboxId, performance.now() + spec.ttlMs);
      return plain.create(spec, context);
    },
    async list(context) {
      const boxes = await plain.list(context);
      return boxes.map((box) => ({
        ...box,
        expiresAtMs: clock.nowMs() + (ends.get(box.sandboxId) ?? 0) - performance.now(),
      }));
    },
  };
  const { principal } = await createRootKey(store);
  const open = async () => {
    const core = await createCore({ store, extensions: [steady], clock });
    onTestFinished(() => core.close());
    await core.start();
    return core;
  };
  const setClock = (byMs: number) => {
    offsetMs += byMs;
  };
  return { store, principal, open, setClock };
}

/** Long enough for a busy machine to do something with it. */
const TTL_MS = 2_500;

it.each(Object.entries(JUMPS))(
  "RE-10 a clock set %s ends nothing early, nothing late and costs at most the time asked for",
  async (_, byMs) => {
    const { store, principal, open, setClock } = await openWithClock();
    const core = await open();
    const begunMs = performance.now();
    const { id } = await core.create(principal, { ttlMs: TTL_MS });
    setClock(byMs);
    await core.exec(principal, id, { argv: ["true"] });
    await until(async () => (await core.get(principal, id)).state === "expired");
    expect(performance.now() - begunMs, "not early").toBeGreaterThanOrEqual(TTL_MS);
    const { costMicroUsd } = await core.get(principal, id);
    expect(costMicroUsd).toBeGreaterThanOrEqual(0);
    expect(costMicroUsd).toBeLessThanOrEqual(TTL_MS);
    expect(await stillHeld(store, principal.orgId, id)).toBe(0);
  },
);

it.each(Object.entries(JUMPS))(
  "RE-10 a clock set %s while no gateway ran ends nothing early and nothing late",
  async (_, byMs) => {
    const { store, principal, open, setClock } = await openWithClock();
    const first = await open();
    const begunMs = performance.now();
    const { id } = await first.create(principal, { ttlMs: TTL_MS });
    await first.close();
    setClock(byMs);
    const second = await open();
    await until(async () => (await second.get(principal, id)).state === "expired");
    expect(performance.now() - begunMs, "not early").toBeGreaterThanOrEqual(TTL_MS);
    const { costMicroUsd } = await second.get(principal, id);
    expect(costMicroUsd).toBeGreaterThanOrEqual(0);
    expect(costMicroUsd).toBeLessThanOrEqual(TTL_MS);
    expect(await stillHeld(store, principal.orgId, id)).toBe(0);
  },
);

it("RE-10 summer time that begins or ends meanwhile is nothing to it", async () => {
  const { principal, open } = await openWithClock();
  const core = await open();
  const zone = process.env.TZ;
  onTestFinished(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });
  process.env.TZ = "Europe/Berlin";
  const { id, expiresAtMs } = await core.create(principal, { ttlMs: TTL_MS });
  const before = new Date(expiresAtMs ?? 0).getHours();
  process.env.TZ = "Asia/Kathmandu";
  expect(new Date(expiresAtMs ?? 0).getHours(), "control: the wall shows another hour").not.toBe(before);
  expect((await core.get(principal, id)).state).toBe("running");
  await until(async () => (await core.get(principal, id)).state === "expired");
  expect((await core.get(principal, id)).costMicroUsd).toBeLessThanOrEqual(TTL_MS);
});
