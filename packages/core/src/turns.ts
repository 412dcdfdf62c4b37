import type { House } from "./house.ts";

/**
 * One after the other, of those that change what a sandbox does: the last to be heard by its box is
 * then also the last to write its row.
 */
export async function inTurn<T>(house: House, sandboxId: string, work: () => Promise<T>): Promise<T> {
  const before = house.turns.get(sandboxId) ?? Promise.resolve();
  const mine = before.catch(() => {}).then(work);
  house.turns.set(sandboxId, mine);
  try {
    return await mine;
  } finally {
    if (house.turns.get(sandboxId) === mine) house.turns.delete(sandboxId);
  }
}
