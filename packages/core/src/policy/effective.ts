import { type IsolationClass, type Rights, stronger } from "@sandboxer/contract";
import { LIST_RULES, LISTS, meet } from "./covers.ts";

/** What every link of a chain allows, as one. Absent members are unlimited. */
export function effectiveRights(chain: readonly Rights[]): Rights {
  const lists: Pick<Rights, keyof typeof LISTS> = {};
  let minimumIsolation: IsolationClass = "process";
  let maximumTtlMs = Number.POSITIVE_INFINITY;
  let budgetMicroUsd = Number.POSITIVE_INFINITY;
  for (const link of chain) {
    for (const rule of LIST_RULES) {
      const met = meet(LISTS[rule], lists[rule], link[rule]);
      if (met) Object.assign(lists, { [rule]: met });
    }
    minimumIsolation = stronger(minimumIsolation, link.minimumIsolation ?? "process");
    maximumTtlMs = Math.min(maximumTtlMs, link.maximumTtlMs ?? maximumTtlMs);
    budgetMicroUsd = Math.min(budgetMicroUsd, link.budgetMicroUsd ?? budgetMicroUsd);
  }
  return {
    ...lists,
    ...(chain.some(({ access }) => access === "read-only") && { access: "read-only" }),
    ...(minimumIsolation !== "process" && { minimumIsolation }),
    ...(Number.isFinite(maximumTtlMs) && { maximumTtlMs }),
    ...(Number.isFinite(budgetMicroUsd) && { budgetMicroUsd }),
  };
}
