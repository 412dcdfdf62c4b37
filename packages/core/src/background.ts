import type { House } from "./house.ts";
import { keepReconciled, reconcile } from "./lifecycle/reconcile.ts";
import { keepRenewed } from "./lifecycle/renewal.ts";
import { sweepGuarded } from "./network/leftovers.ts";
import { sweepVolumes } from "./volumes/volumes.ts";
import { keepDelivering } from "./webhooks/deliver.ts";
import { sealPlainSecrets } from "./webhooks/webhooks.ts";

/** What goes on by itself while the house is open. */
export interface Background {
  /** Puts right what a crash left behind, then watches the clock. */
  start(): Promise<void>;
  /** Something may have died. */
  lookSoon(): void;
  /** Lets go of connections and timers; sandboxes live on. */
  close(): Promise<void>;
}

export function createBackground(house: House): Background {
  let reconciling: ReturnType<typeof keepReconciled> | undefined;
  let renewing: ReturnType<typeof keepRenewed> | undefined;
  let delivering: ReturnType<typeof keepDelivering> | undefined;
  return {
    async start() {
      if (await mayHaveLeftovers(house)) {
        await reconcile(house);
        await house.shelf?.sweep();
        await sweepVolumes(house);
        await sweepGuarded(house);
        await sealPlainSecrets(house);
      }
      reconciling ??= keepReconciled(house);
      renewing ??= keepRenewed(house);
      delivering ??= keepDelivering(house);
    },
    lookSoon: () => reconciling?.soon(),
    async close() {
      await Promise.all([reconciling?.stop(), renewing?.stop(), delivering?.stop()]);
      for (const part of [house.reaper, house.idle, house.auditor, house.leases, house.denials, house.uses])
        part.close();
      await house.reaching.close();
      await Promise.allSettled(house.teardowns.values());
      try {
        await house.journal.flush();
      } finally {
        house.boxes.close();
        await Promise.all(house.registry.all().map((extension) => extension.close()));
      }
    },
  };
}

/**
 * Nothing is made anywhere before its row, so a store without an unfinished row has nothing left to
 * put right. Who takes all it makes along when it goes leaves the rest to those who stay.
 */
async function mayHaveLeftovers({ tethered, store }: House): Promise<boolean> {
  return !tethered || (await store.listUnfinished()).length > 0;
}
