import {
  type CreateVolumeBody,
  emptySchema,
  type Volume,
  volumeListSchema,
  volumeSchema,
} from "@sandboxer/contract";
import type { Transport } from "./transport.ts";

/** Files that outlive every sandbox that works on them. */
export interface Volumes {
  /** Those of the client's key and of keys derived from it. */
  list(): Promise<readonly Volume[]>;
  create(body: CreateVolumeBody): Promise<Volume>;
  get(idOrName: string): Promise<Volume>;
  /** With everything in it; a `conflict` while living sandboxes work on it. */
  delete(idOrName: string): Promise<void>;
}

export function openVolumes(transport: Transport): Volumes {
  const at = (idOrName: string) => `/v1/volumes/${encodeURIComponent(idOrName)}`;
  return {
    async list() {
      return (await transport.ask(volumeListSchema, "GET", "/v1/volumes")).volumes;
    },
    create: (json) => transport.ask(volumeSchema, "POST", "/v1/volumes", { json }),
    get: (idOrName) => transport.ask(volumeSchema, "GET", at(idOrName)),
    async delete(idOrName) {
      await transport.ask(emptySchema, "DELETE", at(idOrName));
    },
  };
}
