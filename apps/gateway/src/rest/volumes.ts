import { createVolumeBodySchema, emptySchema, volumeListSchema, volumeSchema } from "@sandboxer/contract";
import { z } from "zod";
import { endKeepers } from "../e2b/volumes/keepers.ts";
import { route } from "./route.ts";

/** By id or name. */
const params = z.strictObject({ volume: z.string().min(1).max(63) });
const one = { type: "json", status: 200, schema: volumeSchema } as const;

export const volumeRoutes = [
  route(
    {
      method: "GET",
      path: "/v1/volumes",
      operation: "volume.read",
      summary: "List the key's volumes and those of keys derived from it, the oldest first",
      answer: { type: "json", status: 200, schema: volumeListSchema },
    },
    async ({ core, principal }) => ({ volumes: await core.listVolumes(principal) }),
  ),
  route(
    {
      method: "POST",
      path: "/v1/volumes",
      operation: "volume.write",
      summary: "Make a volume: files that outlive every sandbox that works on them",
      body: createVolumeBodySchema,
      answer: { ...one, status: 201 },
    },
    ({ core, principal, body }) => core.createVolume(principal, body),
  ),
  route(
    {
      method: "GET",
      path: "/v1/volumes/{volume}",
      operation: "volume.read",
      summary: "One volume, by id or name",
      params,
      answer: one,
    },
    ({ core, principal, params: { volume } }) => core.getVolume(principal, volume),
  ),
  route(
    {
      method: "DELETE",
      path: "/v1/volumes/{volume}",
      operation: "volume.write",
      summary: "Delete a volume with everything in it; not while living sandboxes work on it",
      params,
      answer: { type: "json", status: 200, schema: emptySchema },
    },
    async ({ core, principal, params: { volume } }) => {
      const { id } = await core.getVolume(principal, volume);
      await endKeepers(core, principal, id);
      await core.deleteVolume(principal, id);
      return {};
    },
  ),
];
