import { budgetSchema, setBudgetBodySchema } from "@sandboxer/contract";
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
];
