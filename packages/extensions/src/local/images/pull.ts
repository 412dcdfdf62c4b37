import { setTimeout as sleep } from "node:timers/promises";
import { type OciManifest, SandboxerError } from "@sandboxer/contract";
import type { PassLocalFailPoint } from "../failpoint.ts";
import { choosePlatform, readConfig, readManifest, recordOf, unreadable } from "./describe.ts";
import { digestOf } from "./digest.ts";
import type { Layers } from "./layers.ts";
import { createProgress, type Progress } from "./progress.ts";
import type { Reference } from "./reference.ts";
import { openRegistry, type Registry, type RegistryOptions } from "./registry.ts";
import type { ImageRecord } from "./shelf.ts";

export interface Pull {
  readonly reference: Reference;
  readonly layers: Layers;
  readonly options: RegistryOptions;
  readonly signal: AbortSignal;
  readonly say: (message: string) => void;
  readonly pass: PassLocalFailPoint;
}

const LAYERS_AT_ONCE = 3;
const TRIES = 3;
const WAIT_MS = 500;

/** Everything of an image but its name: its layers are kept, and nothing yet says that it is there. */
export async function pullImage(pull: Pull): Promise<ImageRecord> {
  const { reference, options, signal, say, pass } = pull;
  const host = registryFor(reference, options);
  const registry = openRegistry(host, reference.repository, options, signal);
  say(`pulling ${reference.name} from ${host}`);
  const { digest, manifest } = await patiently(() => resolve(registry, reference), signal);
  const config = await patiently(
    async () => readConfig(await registry.small(manifest.config), manifest.config.digest),
    signal,
  );
  const diffIds = config.rootfs.diff_ids;
  if (diffIds.length !== manifest.layers.length) throw unreadable("its number of layers");
  pass("image.resolved");
  const total = manifest.layers.reduce((sum, { size }) => sum + size, 0);
  await keepAll(pull, registry, manifest, diffIds, createProgress(reference.name, total, say));
  return recordOf(digest, config, diffIds);
}

/** Whoever names an image names the host that is asked: only those count that the operator listed. */
function registryFor({ name, registry }: Reference, { registries = [], defaultRegistry }: RegistryOptions) {
  const host = registry ?? defaultRegistry;
  if (host !== undefined && registries.includes(host)) return host;
  const where = host === undefined ? "names no registry, and none is the default" : `would come from ${host}`;
  throw new SandboxerError("extension_unavailable", `there is no image ${name} here, and it ${where}`, {
    hint: `Import it, or list ${host ?? "a registry"} under images.registries in the configuration${
      host === undefined ? " and name it in images.defaultRegistry" : ""
    }.`,
  });
}

async function resolve(
  registry: Registry,
  { digest, tag = "latest" }: Reference,
): Promise<{ digest: string; manifest: OciManifest }> {
  const first = await registry.manifest(digest ?? tag);
  const found = readManifest(first.bytes, digest);
  if ("config" in found) return { digest: digestOf(first.bytes), manifest: found };
  const chosen = choosePlatform(found);
  const second = await registry.manifest(chosen.digest);
  const manifest = readManifest(second.bytes, chosen.digest);
  if (!("config" in manifest)) throw unreadable("a list of lists");
  return { digest: chosen.digest, manifest };
}

async function keepAll(
  { layers, signal }: Pull,
  registry: Registry,
  manifest: OciManifest,
  diffIds: readonly string[],
  progress: Progress,
): Promise<void> {
  const waiting = manifest.layers.map((descriptor, at) => ({ descriptor, diffId: diffIds[at] ?? "" }));
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { descriptor, diffId } = next;
      const { digest, size } = descriptor;
      if (await layers.facts(diffId)) {
        progress.add(size);
        continue;
      }
      await patiently(() => {
        const attempt = progress.attempt();
        const open = () => registry.blob(descriptor);
        return layers.keep({ digest, size, diffId, open, count: attempt.add }).catch((error) => {
          attempt.takeBack();
          throw error;
        });
      }, signal);
    }
  };
  const outcomes = await Promise.allSettled(Array.from({ length: LAYERS_AT_ONCE }, work));
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (failure) throw failure.reason;
}

/** Again after a short while, where the same may succeed then. */
async function patiently<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let left = TRIES - 1; ; left--) {
    try {
      return await work();
    } catch (error) {
      const isPassing =
        SandboxerError.is(error) &&
        ["extension_unavailable", "rate_limited", "extension_failed"].includes(error.code);
      if (!isPassing || left === 0 || signal.aborted) throw error;
      await sleep(WAIT_MS * (TRIES - left), undefined, { signal, ref: false }).catch(() => {});
    }
  }
}
