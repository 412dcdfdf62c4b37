import { type Extension, newRowId, SandboxerError } from "@sandboxer/contract";
import { attachProcess } from "./attach-process.ts";
import { createBoxes } from "./boxes.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { Core } from "./core.ts";
import { create } from "./create.ts";
import { destroy } from "./destroy.ts";
import { dial } from "./dial.ts";
import { createJournal } from "./events/journal.ts";
import { exec } from "./exec.ts";
import { explain } from "./explain.ts";
import { files } from "./files.ts";
import { get } from "./get.ts";
import type { House } from "./house.ts";
import { authenticate } from "./keys.ts";
import { createReaper } from "./lifecycle/reaper.ts";
import { keepReconciled, reconcile } from "./lifecycle/reconcile.ts";
import { teardown } from "./lifecycle/teardown.ts";
import { list } from "./list.ts";
import { ps } from "./ps.ts";
import { createRegistry } from "./registry/registry.ts";
import { type Report, reportAsWarning } from "./report.ts";
import { resize } from "./resize.ts";
import type { Store } from "./store/store.ts";

export interface CoreOptions {
  /** Stays open when core closes: who opened it closes it. */
  readonly store: Store;
  readonly extensions: readonly Extension[];
  /** Told of what goes wrong in the background; a process warning, unless said otherwise. */
  readonly report?: Report;
  readonly clock?: Clock;
}

export async function createCore(options: CoreOptions): Promise<Core> {
  const { store, extensions, clock = systemClock, report = reportAsWarning } = options;
  const house: House = {
    store,
    clock,
    report,
    registry: createRegistry(extensions, clock),
    boxes: createBoxes(),
    journal: createJournal(store, report),
    reaper: createReaper(clock, (id) => teardown(house, id, EXPIRY), report),
    installationId: await store.claimMeta("installation-id", newRowId("ins")),
    creating: new Set(),
    teardowns: new Map(),
    orphans: new Set(),
  };
  let reconciling: ReturnType<typeof keepReconciled> | undefined;
  const verb = onlyOurErrors(house);

  return {
    authenticate: verb(authenticate),
    create: verb(create),
    get: verb(get),
    list: verb(list),
    exec: verb(exec),
    attachProcess: verb(attachProcess),
    ps: verb(ps),
    resize: verb(resize),
    dial: verb(dial),
    files: verb(files),
    destroy: verb(destroy),
    explain: verb(explain),
    doctor: verb(() => house.registry.doctor()),
    start: verb(async () => {
      await reconcile(house);
      reconciling ??= keepReconciled(house);
    }),
    close: verb(async () => {
      await reconciling?.stop();
      house.reaper.close();
      await Promise.allSettled(house.teardowns.values());
      try {
        await house.journal.flush();
      } finally {
        house.boxes.close();
        await Promise.all(house.registry.all().map((extension) => extension.close()));
      }
    }),
  };
}

const EXPIRY = { ending: "expired", reason: "its time was up" } as const;

/** Gives a verb its house; whatever it throws leaves as one of ours. */
function onlyOurErrors(house: House) {
  return <Arguments extends unknown[], Result>(
    verb: (house: House, ...given: Arguments) => Promise<Result>,
  ) =>
    async (...given: Arguments): Promise<Result> => {
      try {
        return await verb(house, ...given);
      } catch (error) {
        throw SandboxerError.from(error);
      }
    };
}
