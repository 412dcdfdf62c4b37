import { type ErrorCode, SandboxerError } from "@sandboxer/contract";
import type { Store } from "../src/index.ts";

export async function refusal(work: Promise<unknown>, code: ErrorCode): Promise<SandboxerError> {
  try {
    await work;
  } catch (error) {
    if (SandboxerError.is(error) && error.code === code) return error;
    throw new Error(`expected ${code}`, { cause: error });
  }
  throw new Error(`expected ${code}, but it succeeded`);
}

/** What the ledger still holds for a sandbox: zero once it is over. */
export async function stillHeld(store: Store, orgId: string, sandboxId: string): Promise<number> {
  const entries = await store.listLedger(orgId, sandboxId);
  return entries.reduce(
    (held, { debit, credit, amountMicroUsd }) =>
      held + (debit === "held" ? amountMicroUsd : 0) - (credit === "held" ? amountMicroUsd : 0),
    0,
  );
}

export async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("it never happened");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
