import {
  type Event,
  type Extension,
  type ImageQuery,
  type ImagesFacet,
  type ImportImageOptions,
  imageQuerySchema,
  importImageOptionsSchema,
  type KeptImage,
  type Principal,
  type Pruned,
  type PullImageBody,
  type PullLine,
  pullImageBodySchema,
  SandboxerError,
} from "@sandboxer/contract";
import type { House } from "./house.ts";
import { parse } from "./parse.ts";
import { authorize } from "./policy/authorize.ts";
import { ask } from "./registry/registry.ts";

/** Images are the installation's: what one org's keys did with them, another's would see. */
async function authorizeImages(
  house: House,
  { chain, orgId }: Principal,
  operation: "sandbox.read" | "image.write",
): Promise<void> {
  authorize(chain, operation);
  if (orgId === (await house.store.rootOrgId())) return;
  throw new SandboxerError("policy_denied", "images are kept by the installation's own org", {
    details: { rule: "installation" },
  });
}

interface Keeper {
  readonly extension: Extension;
  readonly facet: ImagesFacet;
}

function keepers({ registry }: House): Keeper[] {
  return registry.all().flatMap((extension) => {
    const { images } = extension;
    return images ? { extension, facet: images } : [];
  });
}

function keeperOf(house: House, extensionId: string | undefined): Keeper {
  const found = keepers(house).find(
    ({ extension }) => (extensionId ?? extension.manifest.id) === extension.manifest.id,
  );
  if (found) return found;
  throw new SandboxerError(
    "unsupported",
    `${extensionId ?? "no extension here"} keeps no images of its own`,
    {
      details: { facet: "images" },
    },
  );
}

const named = ({ extension }: Keeper, image: Omit<KeptImage, "extensionId">): KeptImage => ({
  extensionId: extension.manifest.id,
  ...image,
});

async function record(house: House, principal: Principal, type: Event["type"], data: Event["data"]) {
  const { orgId, id: principalId } = principal;
  await house.journal.record({ type, orgId, atMs: house.clock.nowMs(), principalId, data });
}

export async function listImages(house: House, principal: Principal): Promise<KeptImage[]> {
  await authorizeImages(house, principal, "sandbox.read");
  const all = keepers(house).map(async (keeper) => {
    const images = await ask(keeper.extension, () => keeper.facet.list());
    return images.map((image) => named(keeper, image));
  });
  return (await Promise.all(all)).flat().sort((a, b) => b.keptSinceMs - a.keptSinceMs);
}

/** Says what goes on, and at the end what came of it. */
export async function pullImage(
  house: House,
  principal: Principal,
  body: PullImageBody,
): Promise<AsyncIterable<PullLine>> {
  await authorizeImages(house, principal, "image.write");
  const { ref, extensionId } = parse(pullImageBodySchema, body);
  const keeper = keeperOf(house, extensionId);
  return said(async (progress) => {
    const image = named(keeper, await ask(keeper.extension, () => keeper.facet.pull(ref, { progress })));
    await record(house, principal, "image.pulled", {
      extensionId: image.extensionId,
      ref,
      digest: image.digest,
    });
    return image;
  });
}

async function* said(
  work: (progress: (message: string) => void) => Promise<KeptImage>,
): AsyncGenerator<PullLine> {
  const waiting: string[] = [];
  let wake = () => {};
  let isDone = false;
  const working = work((message) => {
    waiting.push(message.slice(0, 500));
    wake();
  }).finally(() => {
    isDone = true;
    wake();
  });
  working.catch(() => {});
  for (;;) {
    for (let message = waiting.shift(); message !== undefined; message = waiting.shift()) yield { message };
    if (isDone) break;
    await new Promise<void>((resolve) => {
      wake = resolve;
      if (isDone || waiting.length > 0) resolve();
    });
  }
  yield { image: await working };
}

export async function importImage(
  house: House,
  principal: Principal,
  source: AsyncIterable<Uint8Array>,
  options: ImportImageOptions = {},
): Promise<KeptImage> {
  await authorizeImages(house, principal, "image.write");
  const { extensionId, name, kind } = parse(importImageOptionsSchema, options);
  const keeper = keeperOf(house, extensionId);
  const image = named(keeper, await ask(keeper.extension, () => keeper.facet.import(source, { name, kind })));
  const { digest, names } = image;
  await record(house, principal, "image.imported", { extensionId: image.extensionId, names, digest });
  return image;
}

export async function removeImage(house: House, principal: Principal, query: ImageQuery): Promise<KeptImage> {
  await authorizeImages(house, principal, "image.write");
  const { ref, extensionId } = parse(imageQuerySchema, query);
  const keeper = keeperOf(house, extensionId);
  const image = named(keeper, await ask(keeper.extension, () => keeper.facet.remove(ref)));
  await record(house, principal, "image.removed", {
    extensionId: image.extensionId,
    ref,
    digest: image.digest,
  });
  return image;
}

export async function pruneImages(house: House, principal: Principal): Promise<Pruned> {
  await authorizeImages(house, principal, "image.write");
  const pruned: Pruned = { images: [], layers: 0, bytes: 0 };
  for (const { extension, facet } of keepers(house)) {
    const { images, layers, bytes } = await ask(extension, () => facet.prune());
    pruned.images.push(...images);
    pruned.layers += layers;
    pruned.bytes += bytes;
  }
  await record(house, principal, "image.pruned", { ...pruned });
  return pruned;
}
