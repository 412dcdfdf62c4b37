import {
  type CreateVolumeBody,
  createVolumeBodySchema,
  newRowId,
  type Principal,
  SandboxerError,
  type SandboxSpec,
  type Volume,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import { answerOnce, claimOf, type Once } from "../idempotency.ts";
import { parse } from "../parse.ts";
import { authorize } from "../policy/authorize.ts";
import { viewerOf } from "../reach.ts";
import { folderOf, refuseMounted, removeFolder } from "./folders.ts";

export async function createVolume(
  house: House,
  principal: Principal,
  body: CreateVolumeBody,
  once: Once = {},
): Promise<Volume> {
  authorize(principal.chain, "volume.write");
  const { name } = parse(createVolumeBodySchema, body);
  refuseWithout(house);
  const { orgId, id: principalId, lineage } = principal;
  const claim = claimOf(house, principal, "volume.create", body, once);
  return answerOnce(house, claim, async () => {
    const volume = { id: newRowId("vol"), orgId, principalId, name, createdAtMs: house.clock.nowMs() };
    const claimed = claim && { ...claim, answer: JSON.stringify(volume) };
    await house.store.addVolume({ ...volume, lineage }, claimed);
    return volume;
  });
}

export async function listVolumes(house: House, principal: Principal): Promise<Volume[]> {
  authorize(principal.chain, "volume.read");
  return house.store.listVolumes(principal.orgId, viewerOf(principal));
}

/** Somebody else's is answered exactly as one that never was. */
export async function getVolume(house: House, principal: Principal, idOrName: string): Promise<Volume> {
  authorize(principal.chain, "volume.read");
  return find(house, principal, idOrName);
}

/** With everything in it. `conflict` while living sandboxes work on it. */
export async function deleteVolume(house: House, principal: Principal, idOrName: string): Promise<void> {
  authorize(principal.chain, "volume.write");
  const { id, orgId } = await find(house, principal, idOrName);
  await refuseMounted(house.volumesDir ?? "", id);
  await house.store.forsakeVolume({ id, orgId, principalId: principal.id, atMs: house.clock.nowMs() });
  await clear(house, id);
}

/** What a crash has left of volumes that were deleted. */
export async function sweepVolumes(house: House): Promise<void> {
  if (!house.volumesDir) return;
  for (const id of await house.store.forsakenVolumes()) {
    // The next start finds it again.
    await clear(house, id).catch((error) => {
      if (!SandboxerError.is(error) || error.code !== "conflict") throw error;
    });
  }
}

async function clear(house: House, id: string): Promise<void> {
  await removeFolder(house.volumesDir ?? "", id);
  await house.store.dropVolume(id);
}

/** Before anything is made: each of them is there, and the caller's to write to. By id from then on. */
export async function admitVolumes<Spec extends SandboxSpec>(
  house: House,
  principal: Principal,
  spec: Spec,
): Promise<Spec> {
  if (!spec.volumes?.length) return spec;
  authorize(principal.chain, "volume.write");
  const targets = spec.volumes.map(({ target }) => target.replace(/\/+$/, ""));
  if (new Set(targets).size < targets.length) {
    throw new SandboxerError("invalid_request", "volumes: two of them have one target");
  }
  const found = spec.volumes.map(async ({ volume, target }) => ({
    volume: (await find(house, principal, volume)).id,
    target,
  }));
  return { ...spec, volumes: await Promise.all(found) };
}

/** For the extension: which folders they are. */
export async function withFolders(house: House, spec: SandboxSpec): Promise<SandboxSpec> {
  if (!spec.volumes?.length) return spec;
  const volumes = spec.volumes.map(async ({ volume, target }) => {
    if (!(await house.store.getVolumeById(volume))) throw absent(volume);
    return { volume, target, source: await folderOf(house.volumesDir ?? "", volume) };
  });
  return { ...spec, volumes: await Promise.all(volumes) };
}

async function find(house: House, principal: Principal, idOrName: string): Promise<Volume> {
  refuseWithout(house);
  const volume = await house.store.getVolume(principal.orgId, idOrName, viewerOf(principal));
  if (volume) return volume;
  throw absent(idOrName);
}

function absent(idOrName: string): SandboxerError {
  return new SandboxerError("not_found", `no volume ${idOrName.slice(0, 63)}`);
}

function refuseWithout({ volumesDir }: House): void {
  if (volumesDir === undefined) throw new SandboxerError("unsupported", "this house keeps no volumes");
}
