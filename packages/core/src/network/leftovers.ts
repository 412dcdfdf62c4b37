import { isOver } from "@sandboxer/contract";
import type { House } from "../house.ts";

/** What the guard has written down of sandboxes whose end a crash kept it from hearing of. */
export async function sweepGuarded({ guard, store }: House): Promise<void> {
  for (const sandboxId of guard?.kept() ?? []) {
    const row = await store.getSandboxById(sandboxId);
    if (!row || isOver(row.state)) guard?.end(sandboxId);
  }
}
