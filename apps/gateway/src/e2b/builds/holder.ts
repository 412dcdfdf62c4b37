import { type ByteSource, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import type { Build } from "./build.ts";
import { BUILD_LABEL } from "./clear-interrupted.ts";

/** Longer than a build may take. */
export const BUILD_TTL_MS = 3_600_000;
const placeOf = (hash: string) => `/var/tmp/context/${hash}`;

/** Nothing that is sent for a build is unpacked on the host: it waits in a sandbox of its own. */
export async function keepUpload(core: Core, build: Build, hash: string, archive: ByteSource): Promise<void> {
  const labels = { [BUILD_LABEL]: build.id };
  build.holder ??= core.create(build.principal, { ttlMs: BUILD_TTL_MS, labels }).then(({ id }) => id);
  const files = await core.files(build.principal, await build.holder);
  await files.unpack(placeOf(hash), archive, { user: "root", parents: true });
  build.uploaded.add(hash);
}

/** From there into the sandbox where the template is made. */
export async function bringUpload(
  core: Core,
  build: Build,
  hash: string,
  builderId: string,
): Promise<string> {
  if (!build.holder || !build.uploaded.has(hash)) {
    throw new SandboxerError("invalid_request", "the files to copy were not sent");
  }
  const from = await core.files(build.principal, await build.holder);
  const to = await core.files(build.principal, builderId);
  const place = placeOf(hash);
  await to.unpack(place, await from.pack(place, { user: "root" }), { user: "root", parents: true });
  return place;
}

export async function dropHolder(core: Core, build: Build): Promise<void> {
  const id = await build.holder?.catch(() => undefined);
  if (id !== undefined) await core.destroy(build.principal, id).catch(() => {});
}
