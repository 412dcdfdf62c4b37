import {
  type ByteSource,
  type ImportOptions,
  type Snapshot,
  type SnapshotFilter,
  snapshotListSchema,
  snapshotSchema,
} from "@sandboxer/contract";
import { chunksOf } from "./chunks.ts";
import type { Once, Transport } from "./transport.ts";
import { uploadOf } from "./upload.ts";

export interface SnapshotShelf {
  /** Newest first: all, or those with these labels. */
  list(filter?: SnapshotFilter): Promise<readonly Snapshot[]>;
  delete(idOrName: string): Promise<Snapshot>;
  /** As one file. */
  export(idOrName: string): Promise<AsyncIterable<Uint8Array>>;
  import(source: ByteSource, options?: ImportOptions, once?: Once): Promise<Snapshot>;
}

export function openSnapshotShelf(transport: Transport): SnapshotShelf {
  const at = (idOrName: string) => `/v1/snapshots/${encodeURIComponent(idOrName)}`;
  return {
    async list({ labels } = {}) {
      const query = labels && { labels: new URLSearchParams(labels).toString() };
      return (await transport.ask(snapshotListSchema, "GET", "/v1/snapshots", { query })).snapshots;
    },
    delete: (idOrName) => transport.ask(snapshotSchema, "DELETE", at(idOrName)),
    async export(idOrName) {
      return chunksOf(await transport.send("GET", `${at(idOrName)}/archive`)).data;
    },
    async import(source, options = {}, once) {
      const call = { query: { ...options }, body: await uploadOf(source), once };
      return transport.ask(snapshotSchema, "PUT", "/v1/snapshots", call);
    },
  };
}
