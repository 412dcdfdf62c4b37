import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";
import { createCore } from "../create-core.ts";
import type { Store } from "../store/store.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);

/** A store that counts how often a whole row is read for the house itself. */
function counting(store: Store): Store & { readonly read: string[] } {
  const read: string[] = [];
  return {
    ...store,
    read,
    getUnfinished(sandboxId) {
      read.push(sandboxId);
      return store.getUnfinished(sandboxId);
    },
  };
}

async function open() {
  const plain = createPlainExtension(temporaryFolder(), { facets: ["pause"] });
  const store = counting(openStore());
  const gateway = await openGateway([plain], store);
  const other = await createCore({ store: openStoreAgain(store), extensions: [plain] });
  onTestFinished(() => other.close());
  return { ...gateway, store, plain, other };
}

/** The same file, uncounted: what another gateway does. */
const openStoreAgain = ({ read: _, ...store }: Store & { readonly read: string[] }): Store => store;

it("reads a row once, and again only when the row or its box is no longer as it was", async () => {
  const { core, other, principal, store, plain } = await open();
  const ids: string[] = [];
  for (let made = 0; made < 5; made++) ids.push((await core.create(principal, { idleMs: 60_000 })).id);
  const round = async () => {
    store.read.length = 0;
    await core.start();
    return [...store.read];
  };
  expect(await round()).toEqual(ids);
  expect(await round(), "nothing has changed").toEqual([]);

  const [first, second, third] = ids as [string, string, string];
  await other.pause(principal, first);
  plain.paused.add(`box-${second}`);
  rmSync(join(plain.root, `box-${third}`), { recursive: true });
  expect(await round()).toEqual([first, second, third]);
  const states = async () => Promise.all(ids.map(async (id) => (await core.get(principal, id)).state));
  expect(await states()).toEqual(["paused", "paused", "lost", "running", "running"]);
  await round();
  expect(await round(), "nothing has changed again").toEqual([]);
});
