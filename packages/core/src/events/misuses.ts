import { type Guard, type Misuse, SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";

const GATHER_MS = 1_000;

/**
 * Every attempt to send a secret or its placeholder where it may not go is in the log: the first of
 * its kind at once, those that follow within a second as one entry with their number.
 */
export function recordMisuses(house: House, guard: Guard): void {
  const counted = new Map<string, number>();
  const write = async (sandboxId: string, { atMs, ...misuse }: Misuse, times: number): Promise<void> => {
    const sandbox = await house.store.getSandboxById(sandboxId);
    if (!sandbox) return;
    const { orgId } = sandbox;
    const data = { ...misuse, ...(times > 1 && { times }) };
    const type = misuse.what === "pattern" ? "egress.caught" : "secret.misused";
    await house.journal.record({ type, orgId, atMs, sandboxId, data });
  };
  const heard = (work: Promise<void>) =>
    work.catch((error) => house.report("recording a misused secret", SandboxerError.from(error)));

  guard.onMisuse((sandboxId, misuse) => {
    const { atMs: _, ...kind } = misuse;
    const key = JSON.stringify([sandboxId, kind]);
    const known = counted.get(key);
    if (known !== undefined) return void counted.set(key, known + 1);
    counted.set(key, 0);
    heard(write(sandboxId, misuse, 1));
    setTimeout(() => {
      const times = counted.get(key) ?? 0;
      counted.delete(key);
      if (times > 0) heard(write(sandboxId, misuse, times));
    }, GATHER_MS).unref();
  });
}
