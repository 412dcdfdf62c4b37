import { join } from "node:path";
import { SandboxerError } from "@sandboxer/contract";
import { describe, expect, it, onTestFinished } from "vitest";
import { auditBooks } from "../test/books.ts";
import { openers } from "../test/gateway.ts";
import { refusal, until } from "../test/outcomes.ts";
import { createCore } from "./create-core.ts";
import { openSqliteStore } from "./store/sqlite/store.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);

/** At the plain extension's price, a micro-dollar is a millisecond. */
async function openPriced() {
  const path = join(temporaryFolder(), "store.db");
  const gateway = await openGateway(undefined, openStore(path));
  onTestFinished(() => auditBooks(path));
  /** Another gateway on the same file, with a connection of its own. */
  const beside = async () => {
    const store = openSqliteStore(path);
    const other = await createCore({ store, extensions: [gateway.plain] });
    onTestFinished(async () => {
      await other.close();
      await store.close();
    });
    return other;
  };
  return { ...gateway, path, beside };
}

describe("AZ-3 budgets under a race", () => {
  it("100 creates at two gateways with room for 7 give exactly 7", async () => {
    const { core, principal, plain, beside } = await openPriced();
    const other = await beside();
    await core.setBudget(principal, { limitMicroUsd: 7 * 60_000 + 59_999 });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, (_, at) => (at % 2 ? core : other).create(principal, { ttlMs: 60_000 })),
    );
    const made = outcomes.filter(({ status }) => status === "fulfilled");
    expect(made).toHaveLength(7);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "budget_exceeded" });
    }
    expect(plain.calls.create).toBe(7);
    expect(await core.getBudget(principal)).toMatchObject({
      availableMicroUsd: 59_999,
      heldMicroUsd: 420_000,
    });
  });

  it("100 extends at two gateways with room for 3 give exactly 3", async () => {
    const { core, principal, beside } = await openPriced();
    const other = await beside();
    const all = Array.from({ length: 100 }, () => core.create(principal, { ttlMs: 600_000 }));
    const ids = (await Promise.all(all)).map(({ id }) => id);
    // Each asks for 3,000 seconds more; what has run meanwhile is less than one of those.
    await core.setBudget(principal, { limitMicroUsd: 100 * 600_000 + 3 * 3_000_000 + 2_999_999 });
    const outcomes = await Promise.allSettled(
      ids.map((one, at) => (at % 2 ? core : other).extend(principal, one, { ttlMs: 3_600_000 })),
    );
    const codes = outcomes.map((one) =>
      one.status === "fulfilled" ? "moved" : SandboxerError.from(one.reason).code,
    );
    expect(codes.filter((code) => code === "moved")).toHaveLength(3);
    expect(codes.filter((code) => code === "budget_exceeded")).toHaveLength(97);
    expect((await core.getBudget(principal)).availableMicroUsd).toBeGreaterThanOrEqual(0);
  });
});

it("changes a living key's budget: more from its giver, less back to it, nothing that is bound", async () => {
  const { core, principal } = await openPriced();
  await core.setBudget(principal, { limitMicroUsd: 100_000 });
  const { apiKey, key } = await core.createKey(principal, { budgetMicroUsd: 30_000 });
  const child = await core.authenticate(apiKey);
  const { id } = await core.create(child, { ttlMs: 20_000 });
  await refusal(core.create(child, { ttlMs: 20_000 }), "budget_exceeded");
  const raised = await core.setKeyBudget(principal, key.id, { limitMicroUsd: 50_000 });
  expect(raised).toMatchObject({ accountId: key.id, limitMicroUsd: 50_000, availableMicroUsd: 30_000 });
  expect(await core.getBudget(principal)).toMatchObject({ availableMicroUsd: 50_000 });
  expect((await core.whoami(await core.authenticate(apiKey))).rights.budgetMicroUsd).toBe(50_000);
  const second = await core.create(child, { ttlMs: 20_000 });

  const bound = await refusal(
    core.setKeyBudget(principal, key.id, { limitMicroUsd: 39_999 }),
    "budget_exceeded",
  );
  expect(bound.details).toMatchObject({ boundMicroUsd: 40_000 });
  await refusal(core.setKeyBudget(principal, key.id, { limitMicroUsd: 100_001 }), "budget_exceeded");
  expect(await core.getBudget(child), "nothing half-done").toMatchObject({ limitMicroUsd: 50_000 });
  const lowered = await core.setKeyBudget(principal, key.id, { limitMicroUsd: 40_000 });
  expect(lowered).toMatchObject({ availableMicroUsd: 0 });
  expect(await core.getBudget(principal)).toMatchObject({ availableMicroUsd: 60_000 });

  const own = await refusal(core.setKeyBudget(child, key.id, { limitMicroUsd: 90_000 }), "policy_denied");
  expect(own.details).toMatchObject({ rule: "own" });
  const beside = await core.authenticate((await core.createKey(principal, {})).apiKey);
  await refusal(core.setKeyBudget(beside, key.id, { limitMicroUsd: 1 }), "not_found");
  await refusal(core.setKeyBudget(principal, beside.keyId, { limitMicroUsd: 1 }), "invalid_state");
  for (const one of [id, second.id]) await core.destroy(child, one);
  await core.revokeKey(principal, key.id);
  await refusal(core.setKeyBudget(principal, key.id, { limitMicroUsd: 50_000 }), "invalid_state");
});

it("holds a child's budget on its parent's, spends from it alone, and gives the rest back", async () => {
  const { core, principal } = await openPriced();
  await core.setBudget(principal, { limitMicroUsd: 100_000 });
  const { apiKey, key } = await core.createKey(principal, { budgetMicroUsd: 70_000 });
  const child = await core.authenticate(apiKey);
  expect(await core.getBudget(principal)).toMatchObject({ availableMicroUsd: 30_000 });
  expect(await core.getBudget(child)).toMatchObject({ accountId: key.id, availableMicroUsd: 70_000 });
  const tooMuch = await refusal(core.createKey(principal, { budgetMicroUsd: 30_001 }), "budget_exceeded");
  expect(tooMuch.details).toMatchObject({ availableMicroUsd: 30_000 });
  expect(await core.listKeys(principal), "nothing half-done").toHaveLength(2);
  await refusal(core.createKey(child, { budgetMicroUsd: 70_001 }), "policy_denied");
  await refusal(core.create(principal, { ttlMs: 30_001 }), "budget_exceeded");
  await refusal(core.create(child, { ttlMs: 70_001 }), "budget_exceeded");

  const { id } = await core.create(child, { ttlMs: 60_000 });
  expect(await core.getBudget(child)).toMatchObject({ availableMicroUsd: 10_000, heldMicroUsd: 60_000 });
  await core.revokeKey(principal, key.id);
  expect(await core.getBudget(principal)).toMatchObject({ availableMicroUsd: 40_000 });
  const ended = await core.destroy(principal, id);
  const back = 100_000 - ended.costMicroUsd;
  expect(await core.getBudget(principal)).toMatchObject({ availableMicroUsd: back, heldMicroUsd: 0 });
});

it("lets only the root key set the org's budget, and not below what is bound", async () => {
  const { core, principal } = await openPriced();
  const child = await core.authenticate((await core.createKey(principal, { role: "admin" })).apiKey);
  await refusal(core.setBudget(child, { limitMicroUsd: 10 }), "policy_denied");
  await core.create(principal, { ttlMs: 60_000 });
  const low = await refusal(core.setBudget(principal, { limitMicroUsd: 59_999 }), "budget_exceeded");
  expect(low.details).toEqual({ boundMicroUsd: 60_000 });
  expect(await core.setBudget(principal, { limitMicroUsd: 60_000 })).toMatchObject({ availableMicroUsd: 0 });
  expect(await core.setBudget(principal, { limitMicroUsd: null })).not.toHaveProperty("limitMicroUsd");
  for (const wrong of [-1, 0.5, 2 ** 53, Number.NaN]) {
    await refusal(core.setBudget(principal, { limitMicroUsd: wrong }), "invalid_request");
  }
});

it("keeps a sandbox within its own budget", async () => {
  const { core, principal } = await openPriced();
  const poor = await refusal(
    core.create(principal, { ttlMs: 60_000, budgetMicroUsd: 59_999 }),
    "budget_exceeded",
  );
  expect(poor.message).toBe("it would cost up to $0.06; the sandbox's own budget is $0.059999");
  const { id, budgetMicroUsd } = await core.create(principal, { ttlMs: 60_000, budgetMicroUsd: 90_000 });
  expect(budgetMicroUsd).toBe(90_000);
  await refusal(core.extend(principal, id, { ttlMs: 120_000 }), "budget_exceeded");
  await core.extend(principal, id, { ttlMs: 80_000 });
});

describe("extend", () => {
  it("moves the end both ways, holds what it costs, and is kept by the clock", async () => {
    const { core, principal, store } = await openPriced();
    const { id, expiresAtMs: firstEndMs = 0 } = await core.create(principal, { ttlMs: 4_000 });
    const later = await core.extend(principal, id, { ttlMs: 90_000 });
    expect(later.expiresAtMs! - firstEndMs).toBeGreaterThan(80_000);
    expect((await core.getBudget(principal)).heldMicroUsd).toBeGreaterThan(45_000);
    await until(async () => Date.now() > firstEndMs + 200);
    expect(await core.get(principal, id)).toMatchObject({ state: "running" });
    await core.extend(principal, id, { ttlMs: 1_000 });
    expect((await core.getBudget(principal)).heldMicroUsd).toBeLessThan(2_000);
    await until(async () => (await core.get(principal, id)).state === "expired");
    await refusal(core.extend(principal, id, { ttlMs: 5_000 }), "sandbox_gone");
    const types = (await store.listEvents(principal.orgId, 0, 50)).map(({ type }) => type);
    expect(types.filter((type) => type === "sandbox.extended")).toHaveLength(2);
  });

  it("is bound by the key's lifetime in all, and gives the hold back when the box will not", async () => {
    const { core, principal, plain } = await openPriced();
    const brief = await core.authenticate((await core.createKey(principal, { maximumTtlMs: 60_000 })).apiKey);
    const { id } = await core.create(brief, { ttlMs: 30_000 });
    const refused = await refusal(core.extend(brief, id, { ttlMs: 60_001 }), "policy_denied");
    expect(refused.details.rule).toBe("maximumTtlMs");
    plain.extend = () => Promise.reject(new SandboxerError("capacity_exhausted", "no"));
    await refusal(core.extend(brief, id, { ttlMs: 50_000 }), "capacity_exhausted");
    expect((await core.getBudget(principal)).heldMicroUsd).toBeLessThanOrEqual(30_000);
    await refusal(core.extend(brief, id, { ttlMs: 10 }), "invalid_request");
  });
});

describe("a long life", () => {
  it("is paid for a slice at a time, and ends when the budget no longer renews it", async () => {
    const { store, principal, plain } = await openPriced();
    const core = await createCore({ store, extensions: [plain], holdSliceMs: 600 });
    onTestFinished(() => core.close());
    await core.start();
    await core.setBudget(principal, { limitMicroUsd: 1_500 });
    const { id } = await core.create(principal, { ttlMs: 60_000 });
    expect(await core.getBudget(principal)).toMatchObject({ heldMicroUsd: 600 });
    await until(async () => (await core.get(principal, id)).state === "destroyed");
    const ended = await core.get(principal, id);
    expect(ended).toMatchObject({ reason: "its budget is used up" });
    expect(ended.costMicroUsd).toBeGreaterThan(900);
    expect(ended.costMicroUsd).toBeLessThanOrEqual(1_500);
    const types = (await store.listEvents(principal.orgId, 0, 50)).map(({ type }) => type);
    expect(types.filter((type) => type === "budget.exhausted")).toHaveLength(1);
    const captures = (await store.listLedger(principal.orgId, id)).filter(({ kind }) => kind === "capture");
    expect(captures.length).toBeGreaterThan(1);
  });

  it("goes on when the budget is raised in time, and gives back the budget of a key that ran out", async () => {
    const { store, principal, plain } = await openPriced();
    let nowMs = Date.now();
    const clock = { nowMs: () => nowMs, monotonicMs: () => performance.now() };
    const core = await createCore({ store, extensions: [plain], holdSliceMs: 6_000, clock });
    onTestFinished(() => core.close());
    await core.start();
    await core.setBudget(principal, { limitMicroUsd: 6_100 });
    const { id } = await core.create(principal, { ttlMs: 60_000 });
    const told = async () => (await store.listEvents(principal.orgId, 0, 50)).map(({ type }) => type);
    // Within the last sixth of what is paid for; how long the test itself takes does not count.
    nowMs += 5_100;
    await until(async () => (await told()).includes("budget.exhausted"));
    await core.setBudget(principal, { limitMicroUsd: 90_000 });
    await until(async () => (await core.getBudget(principal)).heldMicroUsd === 6_000);
    await core.createKey(principal, { budgetMicroUsd: 50_000, expiresAtMs: nowMs + 1_000 });
    expect((await core.getBudget(principal)).availableMicroUsd).toBe(90_000 - 5_100 - 6_000 - 50_000);
    nowMs += 1_100;
    await until(async () => ((await core.getBudget(principal)).availableMicroUsd ?? 0) > 70_000);
    expect(await core.get(principal, id)).toMatchObject({ state: "running" });
    expect((await told()).filter((type) => type === "budget.exhausted")).toHaveLength(1);
    await core.destroy(principal, id);
  });
});
