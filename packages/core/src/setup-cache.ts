import { createHash } from "node:crypto";
import type { Box, Extension, Sandbox } from "@sandboxer/contract";
import { canonicalJson } from "./events/chain.ts";
import type { House } from "./house.ts";

/** A setup whose outcome is kept, so that it runs once. */
export interface KeptSetup {
  readonly key: string;
  /** To be called however it ended: others may wait for it. */
  done(): void;
}

const NOBODY_WAITS = () => {};

/**
 * Where a setup's outcome can be kept: what it is kept under. Waits for whoever runs the same now;
 * who comes first runs it.
 */
export async function findSetup(
  house: House,
  { images, manifest }: Extension,
  { spec, orgId }: Sandbox,
  progress: (message: string) => void,
): Promise<KeptSetup | undefined> {
  const { setup = [], image, workspace, from } = spec;
  // What a project or a snapshot brings along may be what the steps are about.
  if (setup.length === 0 || !images || !manifest.facets.includes("snapshots") || workspace || from) {
    return undefined;
  }
  const identity = await images.identify(image, { progress });
  if (identity === undefined) return undefined;
  const { env, root, network, verify } = spec;
  const content = { orgId, identity, setup, verify, env, root, network };
  const key = createHash("sha256").update(canonicalJson(content)).digest("hex");
  for (;;) {
    if (await images.hasSetup(key)) return { key, done: NOBODY_WAITS };
    const other = house.setups.get(key);
    if (!other) break;
    await other;
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  house.setups.set(key, promise);
  const done = () => {
    if (house.setups.get(key) === promise) house.setups.delete(key);
    resolve();
  };
  return { key, done };
}

/** All that the setup wrote, for whoever comes next. Whatever hinders that hinders nobody else. */
export async function keepSetup(house: House, { images }: Extension, key: string, box: Box): Promise<void> {
  if (!images || !box.snapshots) return;
  await images.keepSetup(key, await box.snapshots.capture("root"));
  house.pass("create.kept");
}
