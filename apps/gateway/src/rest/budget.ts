import { budgetSchema, setBudgetBodySchema, setKeyBudgetBodySchema } from "@sandboxer/contract";
import { keyParams } from "./parameters.ts";
import { route } from "./route.ts";

export const budgetRoutes = [
  route(
    {
      method: "GET",
      path: "/v1/budget",
      operation: "key",
      summary: "The account that the key's sandboxes draw on",
      answer: { type: "json", status: 200, schema: budgetSchema },
    },
    ({ core, principal }) => core.getBudget(principal),
  ),
  route(
    {
      method: "PUT",
      path: "/v1/budget",
      operation: "budget.write",
      summary: "Set what the whole org may spend; null for no limit",
      body: setBudgetBodySchema,
      answer: { type: "json", status: 200, schema: budgetSchema },
    },
    ({ core, principal, body }) => core.setBudget(principal, body),
  ),
  route(
    {
      method: "PUT",
      path: "/v1/keys/{key}/budget",
      operation: "key.create",
      summary: "Set what a derived key may spend in all; the difference comes from, or goes to, its giver",
      params: keyParams,
      body: setKeyBudgetBodySchema,
      answer: { type: "json", status: 200, schema: budgetSchema },
    },
    ({ core, principal, params, body }) => core.setKeyBudget(principal, params.key, body),
  ),
];
