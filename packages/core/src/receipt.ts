import type { Event, Principal, Receipt, Sandbox } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { reachedBy } from "./network/reached.ts";
import { authorize } from "./policy/authorize.ts";
import { findSandbox } from "./reach.ts";
import type { LedgerEntry } from "./store/store.ts";

/** Made from what was logged and booked, not from what is true now. */
export async function receipt(house: House, principal: Principal, idOrName: string): Promise<Receipt> {
  authorize(principal.chain, "sandbox.read");
  const sandbox = await findSandbox(house, principal, idOrName);
  const { orgId, id, name, reason, profile, location, bestEffort } = sandbox;
  const [entries, events, reached] = await Promise.all([
    house.store.listLedger(orgId, id),
    house.store.listBirth(orgId, id),
    reachedBy(house, sandbox),
  ]);
  const requested = dataOf(events, "sandbox.requested");
  const settled = { ...dataOf(events, "sandbox.failed"), ...dataOf(events, "sandbox.created") };
  const { keyId, policy, candidates, rejected } = requested as Logged;
  return {
    sandboxId: id,
    ...(name !== undefined && { name }),
    state: sandbox.state,
    ...(reason !== undefined && { reason }),
    who: { orgId, principalId: sandbox.principalId, ...(keyId && { keyId }), consumer: sandbox.consumer },
    ...(profile && { profile }),
    ...(location && { where: location }),
    why: {
      ...(policy && { policy }),
      candidates: candidates ?? [],
      rejected: rejected ?? [],
      attempts: (settled as Logged).attempts ?? [],
      bestEffort,
    },
    reached,
    when: whenOf(sandbox, house.clock.nowMs()),
    cost: { ...costOf(sandbox, entries), ...rateOf(settled as Logged) },
  };
}

/** What create writes into its events. */
interface Logged {
  readonly keyId?: string;
  readonly policy?: Receipt["why"]["policy"];
  readonly candidates?: string[];
  readonly rejected?: Receipt["why"]["rejected"];
  readonly attempts?: Receipt["why"]["attempts"];
  readonly microUsdPerHour?: number;
  readonly pausedMicroUsdPerHour?: number;
}

function dataOf(events: readonly Event[], type: Event["type"]): Event["data"] {
  return events.find((event) => event.type === type)?.data ?? {};
}

function rateOf({ microUsdPerHour, pausedMicroUsdPerHour }: Logged) {
  return {
    ...(microUsdPerHour !== undefined && { microUsdPerHour }),
    ...(pausedMicroUsdPerHour !== undefined && { pausedMicroUsdPerHour }),
  };
}

function whenOf({ createdAtMs, startedAtMs, endedAtMs }: Sandbox, nowMs: number): Receipt["when"] {
  return {
    requestedAtMs: createdAtMs,
    ...(startedAtMs !== undefined && { startedAtMs }),
    ...(endedAtMs !== undefined && { endedAtMs }),
    ranMs: startedAtMs === undefined ? 0 : Math.max(0, (endedAtMs ?? nowMs) - startedAtMs),
  };
}

function costOf({ orgId }: Sandbox, entries: readonly LedgerEntry[]): Receipt["cost"] {
  const sum = (kind: LedgerEntry["kind"]) =>
    entries.reduce((total, entry) => total + (entry.kind === kind ? entry.amountMicroUsd : 0), 0);
  return {
    chargedMicroUsd: sum("capture"),
    heldMicroUsd: sum("hold") - sum("capture") - sum("release"),
    accountId: entries[0]?.debitAccountId ?? orgId,
    intervals: entries.flatMap(({ kind, fromMs, toMs, amountMicroUsd: microUsd }) =>
      kind === "capture" && fromMs !== null && toMs !== null ? [{ fromMs, toMs, microUsd }] : [],
    ),
  };
}
