import { SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { tellGuard } from "../network/terms.ts";
import type { KeptSecret } from "../store/secret-store.ts";

/** Resolves when the guard goes by what the secret is now, in every sandbox that has its placeholder. */
export async function retell(
  house: House,
  { name, orgId }: Pick<KeptSecret, "name" | "orgId">,
): Promise<void> {
  const living = await house.store.listUnfinished();
  const concerned = living.filter((one) => one.orgId === orgId && one.spec.secrets?.includes(name));
  const outcomes = await Promise.allSettled(concerned.map((sandbox) => tellGuard(house, sandbox)));
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed) house.report(`telling the guard of ${name}`, SandboxerError.from(failed.reason));
}
