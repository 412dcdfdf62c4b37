import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { newRowId, newSandboxId, SandboxerError } from "@sandboxer/contract";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { auditBooks } from "../../test/books.ts";
import { openers } from "../../test/gateway.ts";
import { beginCreateOf, settleOf } from "../../test/rows.ts";

const { openStore, temporaryFolder } = openers(onTestFinished);

const orgId = "org_one";
const amount = fc.nat(30_000);
const pick = fc.nat(7);
const step = fc.oneof(
  fc.record({ do: fc.constant("fund" as const), limit: fc.option(fc.nat(60_000)) }),
  fc.record({ do: fc.constant("key" as const), parent: pick, budget: fc.option(amount) }),
  fc.record({ do: fc.constant("revoke" as const), key: pick }),
  fc.record({ do: fc.constant("create" as const), key: pick, hold: amount, own: fc.option(amount) }),
  fc.record({ do: fc.constant("settle" as const), sandbox: pick }),
  fc.record({ do: fc.constant("fail" as const), sandbox: pick }),
  fc.record({ do: fc.constant("cover" as const), sandbox: pick, forMs: fc.nat(20_000) }),
  fc.record({ do: fc.constant("pause" as const), sandbox: pick }),
  fc.record({ do: fc.constant("resume" as const), sandbox: pick }),
  fc.record({ do: fc.constant("end" as const), sandbox: pick }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: -3_000, max: 8_000 }) }),
);
type Step = (typeof step)["generate"] extends (...given: never[]) => { value: infer T } ? T : never;

/** Whatever the budget, the policy or the state refuses is part of the story. */
async function attempt(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!SandboxerError.is(error) || error.code === "internal") throw error;
  }
}

describe("the books", () => {
  it("sum to zero, replay to the balances and are never overdrawn, whatever happens", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const path = join(temporaryFolder(), "store.db");
        const store = openStore(path);
        const story = tell(store);
        for (const one of steps) await attempt(story(one as Step));
        auditBooks(path);
      }),
      { numRuns: 100 },
    );
  }, 300_000);
});

function tell(store: ReturnType<typeof openStore>) {
  let nowMs = 10_000;
  const sandboxes: string[] = [];
  const keys: string[] = [];
  const one = <T>(all: readonly T[], at: number): T | undefined => all[at % Math.max(1, all.length)];

  const newKey = async (parentId: string | undefined, budget: number | null) => {
    const id = newRowId("key");
    await store.insertKey({
      id,
      orgId,
      ...(parentId && { parentId }),
      principal: { id: newRowId("prn"), kind: "agent" },
      rights: { ...(parentId && budget !== null && { budgetMicroUsd: budget }) },
      hash: id,
      createdAtMs: nowMs,
    });
    keys.push(id);
  };

  return async (told: Step): Promise<unknown> => {
    if (keys.length === 0) await newKey(undefined, null);
    const sandboxId = "sandbox" in told ? (one(sandboxes, told.sandbox) ?? "none") : "none";
    switch (told.do) {
      case "fund":
        return store.setOrgBudget({ orgId, limitMicroUsd: told.limit, atMs: nowMs, principalId: "prn_one" });
      case "key":
        return newKey(one(keys, told.parent), told.budget);
      case "revoke":
        return store.revokeKey({ orgId, keyId: one(keys, told.key) ?? "", atMs: nowMs });
      case "create": {
        const id = newSandboxId();
        const begin = beginCreateOf({
          orgId,
          id,
          createdAtMs: nowMs,
          ...(told.own && { budgetMicroUsd: told.own }),
        });
        await store.beginCreate({ ...begin, keyId: one(keys, told.key) ?? "", holdMicroUsd: told.hold });
        return sandboxes.push(id);
      }
      case "settle":
        return store.settleCreate({
          ...settleOf(sandboxId),
          startedAtMs: nowMs,
          expiresAtMs: nowMs + 30_000,
          pausedMicroUsdPerHour: 1_234_567,
        });
      case "pause":
        return store.pause({ sandboxId, atMs: nowMs });
      case "resume":
        return store.resume({ sandboxId, atMs: nowMs });
      case "fail":
        return store.failCreate({ sandboxId, atMs: nowMs });
      case "cover":
        return store.coverSandbox({ sandboxId, atMs: nowMs, untilMs: nowMs + told.forMs, announce: true });
      case "end":
        await store.beginDestroy({ sandboxId, ending: "destroyed", reason: "asked for", atMs: nowMs });
        return store.finishDestroy({ sandboxId, atMs: nowMs });
      case "wait":
        nowMs += told.ms;
    }
    return undefined;
  };
}

it("charges the same in many stretches as in one", async () => {
  const path = join(temporaryFolder(), "store.db");
  const store = openStore(path);
  const costs: number[] = [];
  for (const stops of [[], [2_100, 2_101, 2_900, 2_900, 1_000, 4_444]]) {
    const begin = beginCreateOf({ orgId, id: newSandboxId() });
    const { id: sandboxId } = begin.sandbox;
    await store.beginCreate(begin);
    await store.settleCreate({ ...settleOf(sandboxId), microUsdPerHour: 1_234_567 });
    for (const atMs of stops) await store.coverSandbox({ sandboxId, atMs, untilMs: 12_000 });
    const ended = await store.markGone({ sandboxId, to: "lost", atMs: 9_999 });
    costs.push(ended?.costMicroUsd ?? -1);
  }
  expect(costs[0]).toBe(Math.ceil((1_234_567 * 7_999) / 3_600_000));
  expect(costs[1]).toBe(costs[0]);
  auditBooks(path);
});

it("RE-15 charges each stretch once, whatever two gateways repeat, reorder or drop", async () => {
  const wish = fc.record({ at: fc.nat(20_000), gateway: fc.nat(1), times: fc.integer({ min: 1, max: 3 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(wish, { maxLength: 12 }), fc.nat(20_000), async (wishes, endMs) => {
      const path = join(temporaryFolder(), "store.db");
      const gateways = [openStore(path), openStore(path)];
      const begin = beginCreateOf({ orgId });
      const { id: sandboxId } = begin.sandbox;
      await gateways[0]?.beginCreate(begin);
      await gateways[0]?.settleCreate(settleOf(sandboxId));
      await Promise.all(
        wishes.flatMap(({ at: atMs, gateway, times }) =>
          Array.from({ length: times }, () =>
            gateways[gateway]?.coverSandbox({ sandboxId, atMs, untilMs: 12_000 }),
          ),
        ),
      );
      const ends = await Promise.all(
        gateways.map((store) => store.markGone({ sandboxId, to: "lost", atMs: endMs })),
      );
      const [ended, ...again] = ends.filter((one) => one !== undefined);
      expect(again, "one of two ends it").toEqual([]);
      const latestMs = Math.min(12_000, Math.max(endMs, 2_000, ...wishes.map(({ at }) => at)));
      expect(ended?.costMicroUsd, "a micro-dollar is a millisecond").toBe(latestMs - 2_000);
      auditBooks(path);
    }),
    { numRuns: 60 },
  );
}, 300_000);

it("the audit itself notices a balance that was touched", async () => {
  const path = join(temporaryFolder(), "store.db");
  const store = openStore(path);
  await store.beginCreate(beginCreateOf({ orgId }));
  auditBooks(path);
  const intruder = new DatabaseSync(path);
  intruder.exec("UPDATE accounts SET held_micro_usd = held_micro_usd - 1");
  expect(() => intruder.exec("UPDATE ledger SET amount_micro_usd = 1")).toThrow(/append-only/);
  intruder.close();
  expect(() => auditBooks(path)).toThrow("replay");
});
