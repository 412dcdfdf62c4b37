import {
  type CreateVolumeBody,
  emptySchema,
  type Volume,
  volumeListSchema,
  volumeSchema,
} from "@sandboxer/contract";
import type { Once, Transport } from "./transport.ts";

/** Files that outlive every sandbox that works on them; `create` takes them as `volumes`. */
export interface Volumes {
  create(body: CreateVolumeBody, once?: Once): Promise<Volume>;
  list(): Promise<readonly Volume[]>;
  /** By id or by name. */
  get(idOrName: string): Promise<Volume>;
  /** With everything in it. `conflict` while living sandboxes work on it. */
  delete(idOrName: string): Promise<void>;
}

export function openVolumes(transport: Transport): Volumes {
  const at = (idOrName: string) => `/v1/volumes/${encodeURIComponent(idOrName)}`;
  return {
    create: (json, once) => transport.ask(volumeSchema, "POST", "/v1/volumes", { json, once }),
    async list() {
      return (await transport.ask(volumeListSchema, "GET", "/v1/volumes")).volumes;
    },
    get: (idOrName) => transport.ask(volumeSchema, "GET", at(idOrName)),
    async delete(idOrName) {
      await transport.ask(emptySchema, "DELETE", at(idOrName));
    },
  };
}
