import { type PruneBody, type StoreReport, storeSchema } from "@sandboxer/contract";
import type { Transport } from "./transport.ts";

/** What takes room on the gateway's machine; the installation's root key's alone. */
export interface StoreView {
  list(): Promise<StoreReport>;
  /** What was removed, or with `dryRun` would be. */
  prune(body?: PruneBody): Promise<StoreReport>;
}

export function openStoreView(transport: Transport): StoreView {
  return {
    list: () => transport.ask(storeSchema, "GET", "/v1/store"),
    prune: (body = {}) => transport.ask(storeSchema, "POST", "/v1/store/prune", { json: body }),
  };
}
