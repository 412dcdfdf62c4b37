import type { GuardedKey } from "@sandboxer/contract";
import { fingerprintOf } from "./public-key.ts";

export interface Verdict {
  readonly effect: "allow" | "ask" | "deny";
  /** As the key's owner named it. */
  readonly host: string;
  readonly reason: string;
}

/**
 * Pure. Whether a key may sign a login on a connection whose server proved to have this host key,
 * or proved nothing. Where hosts are pinned it has to be one of theirs; where they are not, nobody can
 * tell which host it is, so somebody is asked at least.
 */
export function judgeLogin(
  { name, bindings }: Pick<GuardedKey, "name" | "bindings">,
  hostKey: Buffer | undefined,
): Verdict {
  const shown = hostKey && fingerprintOf(hostKey);
  const pinned = bindings.filter(({ hostKeys }) => shown && hostKeys?.includes(shown));
  const open = bindings.filter(({ hostKeys }) => !hostKeys);
  const found = pinned.find(({ sign }) => sign === "deny") ?? pinned[0] ?? open[0];
  if (!found) {
    const whom = shown ? `a host with the key ${shown}` : "a host that proves nothing of itself";
    return { effect: "deny", host: "", reason: `the key ${name} is not for ${whom}` };
  }
  const effect = found.hostKeys || found.sign === "deny" ? found.sign : "ask";
  return { effect, host: found.host, reason: `the key ${name} signs nothing for ${found.host}` };
}
