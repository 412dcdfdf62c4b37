import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Extension, Principal } from "@sandboxer/contract";
import { type Core, createCore, createRootKey, openSqliteStore, type Store } from "../src/index.ts";
import { createPlainExtension, type PlainExtension } from "./plain-extension.ts";

export interface TestGateway {
  readonly core: Core;
  readonly store: Store;
  readonly plain: PlainExtension;
  readonly principal: Principal;
  readonly apiKey: string;
  readonly troubles: string[];
  /** Another core over the same store and boxes, as after a crash; the first is not closed. */
  restart(): Promise<Core>;
}

/** Ways to open real things that close themselves when the test ends. */
export function openers(onTestFinished: (close: () => Promise<void> | void) => void) {
  const temporaryFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), "sandboxer-core-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
    return folder;
  };

  const openStore = (path = join(temporaryFolder(), "state", "store.db")): Store => {
    const store = openSqliteStore(path);
    onTestFinished(() => store.close());
    return store;
  };

  const openGateway = async (
    extensions?: readonly Extension[],
    store = openStore(),
  ): Promise<TestGateway> => {
    const plain = createPlainExtension(join(temporaryFolder(), "plain"), {
      price: { basis: "provisioned", microUsdPerHour: 3_600_000 },
    });
    const troubles: string[] = [];
    const restart = async () => {
      const core = await createCore({
        store,
        extensions: extensions ?? [plain],
        report: (what, { message }) => troubles.push(`${what}: ${message}`),
      });
      onTestFinished(() => core.close());
      return core;
    };
    const { principal, apiKey } = await createRootKey(store);
    return { core: await restart(), store, plain, principal, apiKey, troubles, restart };
  };

  return { temporaryFolder, openStore, openGateway };
}
