import { createVolumeBodySchema, type Volume } from "@sandboxer/contract";
import { type Call, control } from "./route.ts";

async function withToken({ core, desk, principal }: Call<unknown>, { id, name }: Volume) {
  return {
    volumeID: id,
    name,
    token: await core.openVolume(principal, id),
    domain: desk.domain() ?? null,
  };
}

export const volumeRoutes = [
  control(
    { method: "POST", path: "/volumes", operation: "volume.write", body: createVolumeBodySchema },
    async (call) => {
      const volume = await call.core.createVolume(call.principal, call.body);
      return { status: 201, body: await withToken(call, volume) };
    },
  ),
  control({ method: "GET", path: "/volumes", operation: "volume.read" }, async ({ core, principal }) => {
    const all = await core.listVolumes(principal);
    return { status: 200, body: all.map(({ id, name }) => ({ volumeID: id, name })) };
  }),
  control({ method: "GET", path: "/volumes/{id}", operation: "volume.read" }, async (call) => {
    const volume = await call.core.getVolume(call.principal, call.params.id ?? "");
    return { status: 200, body: await withToken(call, volume) };
  }),
  control(
    { method: "DELETE", path: "/volumes/{id}", operation: "volume.write" },
    async ({ core, desk, principal, params }) => {
      const { id } = await core.getVolume(principal, params.id ?? "");
      await desk.keepers.end(principal, id);
      await core.deleteVolume(principal, id);
      return { status: 204 };
    },
  ),
];
