import { setTimeout } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { stillHeld, until } from "../../test/outcomes.ts";

const { openGateway, openStore } = openers(onTestFinished);
/** Long enough for whoever uses one to come back in time, also on a busy machine. */
const IDLE = { ttlMs: 600_000, idleMs: 4_000 };

it("ends what nobody uses, and keeps what somebody does, also at another gateway", async () => {
  const gateway = await openGateway(undefined, openStore());
  const { core, principal, store } = gateway;
  const other = await gateway.restart();
  const [left, used, usedElsewhere, endless] = [
    await core.create(principal, IDLE),
    await core.create(principal, IDLE),
    await core.create(principal, { ...IDLE, idleMs: 5_000 }),
    await core.create(principal, { ttlMs: 600_000 }),
  ];
  await other.start();
  const stateOf = async (id: string) => (await core.get(principal, id)).state;
  const begun = Date.now();
  while ((await stateOf(left.id)) === "running" || Date.now() - begun < 6_000) {
    await (await core.files(principal, used.id)).write("a", []);
    await (await other.files(principal, usedElsewhere.id)).write("a", []);
    await setTimeout(100);
  }
  expect(await core.get(principal, left.id)).toMatchObject({
    state: "expired",
    reason: "nobody used it for 4000 ms",
  });
  expect(await Promise.all([used, usedElsewhere, endless].map(({ id }) => stateOf(id)))).toEqual([
    "running",
    "running",
    "running",
  ]);
  expect(await stillHeld(store, principal.orgId, left.id)).toBe(0);
  await until(
    async () => (await stateOf(used.id)) === "expired" && (await stateOf(usedElsewhere.id)) === "expired",
  );
  expect(await stateOf(endless.id)).toBe("running");
});

it("counts from anew after a restart", async () => {
  const gateway = await openGateway(undefined, openStore());
  const { id } = await gateway.core.create(gateway.principal, IDLE);
  await gateway.core.close();
  const after = await gateway.restart();
  await after.start();
  expect((await after.get(gateway.principal, id)).state).toBe("running");
  await until(async () => (await after.get(gateway.principal, id)).state === "expired");
});
