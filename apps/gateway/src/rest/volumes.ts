import {
  createVolumeBodySchema,
  emptySchema,
  rowIdSchema,
  volumeListSchema,
  volumeNameSchema,
  volumeSchema,
} from "@sandboxer/contract";
import { z } from "zod";
import { endKeepers } from "../e2b/volumes/keepers.ts";
import { route } from "./route.ts";

const params = z.strictObject({ volume: z.union([rowIdSchema, volumeNameSchema]) });

export const volumeRoutes = [
  route(
    {
      method: "POST",
      path: "/v1/volumes",
      operation: "volume.write",
      idempotent: true,
      summary: "Make a volume: files that outlive every sandbox that works on them",
      body: createVolumeBodySchema,
      answer: { type: "json", status: 201, schema: volumeSchema },
    },
    ({ core, principal, body, once }) => core.createVolume(principal, body, once),
  ),
  route(
    {
      method: "GET",
      path: "/v1/volumes",
      operation: "volume.read",
      summary: "List volumes, oldest first",
      answer: { type: "json", status: 200, schema: volumeListSchema },
    },
    async ({ core, principal }) => ({ volumes: await core.listVolumes(principal) }),
  ),
  route(
    {
      method: "GET",
      path: "/v1/volumes/{volume}",
      operation: "volume.read",
      summary: "Look at one volume",
      params,
      answer: { type: "json", status: 200, schema: volumeSchema },
    },
    ({ core, principal, params: { volume } }) => core.getVolume(principal, volume),
  ),
  route(
    {
      method: "DELETE",
      path: "/v1/volumes/{volume}",
      operation: "volume.write",
      summary: "Delete a volume with everything in it, when no living sandbox works on it",
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
