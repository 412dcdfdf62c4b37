import { type Principal, type Rights, SandboxerError } from "@sandboxer/contract";
import { beyond, LISTS } from "../policy/covers.ts";
import type { KeptSecret } from "../store/secret-store.ts";

/**
 * Whoever owns it, whoever it was granted to, and everybody above those, who could act as them
 * anyway. A derived key has none of its parent's secrets until somebody grants it one.
 */
export function mayUse({ lineage, grantLineages }: KeptSecret, principalId: string): boolean {
  return [lineage, ...grantLineages].some((line) => line.includes(principalId));
}

/** The owner, and whoever is above it. */
export function mayChange({ lineage }: KeptSecret, { id }: Principal): boolean {
  return lineage.includes(id);
}

/** Of the names, every one has to be within every link that lists names. */
export function authorizeSecrets(chain: readonly Rights[], names: readonly string[]): void {
  for (const { secrets } of chain) {
    const extra = beyond(LISTS.secrets, secrets, names);
    if (extra.length === 0) continue;
    throw new SandboxerError("policy_denied", `this key may not use ${extra.join(", ")}`, {
      details: { rule: "secrets", allowed: secrets },
    });
  }
}
