import { type Operation, SandboxerError } from "@sandboxer/contract";
import type { Call } from "./route.ts";

/** Asked before something is begun that would only fail for it later; core asks again. */
export async function may(
  { core, principal }: Pick<Call<unknown>, "core" | "principal">,
  operation: Operation,
): Promise<void> {
  const { operations } = (await core.whoami(principal)).rights;
  if (operations === undefined || operations.includes(operation)) return;
  throw new SandboxerError("policy_denied", `this key may not do ${operation}`, {
    details: { rule: "operations" },
  });
}
