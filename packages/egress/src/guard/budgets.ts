import type { ByteBudget, SpentBudget, Terms } from "@sandboxer/contract";
import { purseOf, rulesFor } from "../policy/compile.ts";
import type { Asked, Decision } from "../policy/decide.ts";
import type { RelayOrder } from "./relay.ts";
import type { Spent, Ward } from "./ward.ts";

/** Of everything together; rules have their own. */
const ALL = "";
const ENDLESS = Number.POSITIVE_INFINITY;

/** What there is a limit for, and what it is. Of two for the same, the narrower one counts. */
export function budgetsOf({
  network,
  elevated,
}: Pick<Terms, "network" | "elevated">): Map<string, ByteBudget> {
  const found = new Map<string, ByteBudget>(network.budget && [[ALL, network.budget]]);
  for (const rule of [...network.rules, ...elevated.flatMap(({ rules }) => rules)]) {
    const known = found.get(purseOf(rule));
    if (rule.budget) found.set(purseOf(rule), known ? narrower(known, rule.budget) : rule.budget);
  }
  return found;
}

function narrower(one: ByteBudget, other: ByteBudget): ByteBudget {
  const upBytes = Math.min(one.upBytes ?? ENDLESS, other.upBytes ?? ENDLESS);
  const downBytes = Math.min(one.downBytes ?? ENDLESS, other.downBytes ?? ENDLESS);
  return { ...(upBytes < ENDLESS && { upBytes }), ...(downBytes < ENDLESS && { downBytes }) };
}

/** Who pays for a connection there. */
function pursesFor({ terms, policy }: Ward, { host, port }: Asked): string[] {
  const byRule = rulesFor(policy, host, port).flatMap(({ effect, purse }) =>
    purse !== undefined && effect !== "deny" ? [purse] : [],
  );
  return [...(terms.network.budget ? [ALL] : []), ...new Set(byRule)];
}

/** As decided, unless nothing is left to pay for it. */
export function withinBudget(ward: Ward, asked: Asked, decision: Decision): Decision {
  if (decision.verdict === "denied") return decision;
  const purses = pursesFor(ward, asked);
  if (purses.length === 0) return decision;
  const budgets = budgetsOf(ward.terms);
  const empty = purses.find((purse) => isSpent(budgets.get(purse), ward.spent.get(purse)));
  if (empty === undefined) return decision;
  const whose = empty === ALL ? "the sandbox" : empty;
  return { verdict: "denied", rule: "budget", reason: `the budget of ${whose} is spent` };
}

function isSpent(budget: ByteBudget | undefined, spent: Spent | undefined): boolean {
  const { upBytes = ENDLESS, downBytes = ENDLESS } = budget ?? {};
  return (spent?.upBytes ?? 0) >= upBytes || (spent?.downBytes ?? 0) >= downBytes;
}

/** What the relay has to know of a sandbox's limits. */
export function fillOrders({ sandbox, terms, spent }: Ward): RelayOrder[] {
  return [...budgetsOf(terms)].map(([purse, { upBytes, downBytes }]) => ({
    op: "fill",
    purse: `${sandbox}/${purse}`,
    ...(upBytes !== undefined && { up: upBytes }),
    ...(downBytes !== undefined && { down: downBytes }),
    usedUp: spent.get(purse)?.upBytes ?? 0,
    usedDown: spent.get(purse)?.downBytes ?? 0,
  }));
}

/** Who pays for a tunnel from now on; nothing where nobody does. */
export function chargeOrder(ward: Ward, tunnel: number, asked: Asked | undefined): RelayOrder | undefined {
  const everything = ward.terms.network.budget ? [ALL] : [];
  const purses = asked ? pursesFor(ward, asked) : everything;
  if (purses.length === 0) return undefined;
  return { op: "charge", tunnel, purses: purses.map((purse) => `${ward.sandbox}/${purse}`) };
}

/** For people: what has been used of what there is. */
export function spentBudgets(
  budgets: ReadonlyMap<string, ByteBudget>,
  spent: ReadonlyMap<string, Spent>,
): SpentBudget[] {
  return [...budgets].map(([purse, budget]) => ({
    ...(purse !== ALL && { rule: purse }),
    upBytes: spent.get(purse)?.upBytes ?? 0,
    downBytes: spent.get(purse)?.downBytes ?? 0,
    budget,
  }));
}
