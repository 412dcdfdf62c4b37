import {
  type CallContext,
  type Extension,
  facetProblems,
  type Manifest,
  manifestSchema,
  type Probe,
  SandboxerError,
} from "@sandboxer/contract";
import type { Clock } from "../clock.ts";
import { parse } from "../parse.ts";
import type { Offer } from "../route/route.ts";

const PROBE_LASTS_MS = 30_000;
const PROBE_PATIENCE_MS = 10_000;
const SIGNALLED_BEFORE_MS = 1_000;

/** Fails closed, should anybody look at it all the same. */
const NOT_ASKED: Probe = { status: "unavailable", reason: "it was not asked", fix: "", findings: [] };

/** By extension; what is left out is as its manifest says. */
export type Prices = Readonly<Record<string, Partial<Omit<Manifest["price"], "basis">>>>;

export interface Registry {
  /** `extension_unavailable` when it is not in this gateway's configuration. */
  get(extensionId: string): Extension;
  all(): readonly Extension[];
  /** Every extension with a probe at most 30 s old; those that are ruled out already are not probed. */
  offers(isRuledOut?: (manifest: Manifest) => boolean): Promise<Offer[]>;
  /** Probes every extension anew. */
  doctor(): Promise<Map<string, Probe>>;
  /** What is known to be unsafe about it, and is used because the operator says so. */
  toleratedOf(extensionId: string): Promise<readonly string[]>;
}

export interface RegistryOptions {
  readonly clock: Clock;
  readonly prices?: Prices | undefined;
  readonly allowUnsafeRuntime?: readonly string[] | undefined;
  /** Further ones, which come with this release: its tests have checked their manifests. */
  readonly builtIn?: readonly Extension[] | undefined;
}

export function createRegistry(
  extensions: readonly Extension[],
  { clock, prices = {}, allowUnsafeRuntime = [], builtIn = [] }: RegistryOptions,
): Registry {
  const byId = new Map<string, Extension>();
  for (const extension of [...builtIn, ...extensions]) {
    if (!builtIn.includes(extension)) parse(manifestSchema, extension.manifest);
    const { id } = extension.manifest;
    const [problem] = facetProblems(extension);
    if (problem) throw new SandboxerError("invalid_request", `the extension ${id} ${problem}`);
    if (byId.has(id)) throw new SandboxerError("invalid_request", `two extensions are named ${id}`);
    byId.set(id, extension);
  }
  const probes = new Map<string, { readonly atMs: number; readonly probe: Promise<Probe> }>();

  const probeAnew = (extension: Extension): Promise<Probe> => {
    const isTolerated = allowUnsafeRuntime.includes(extension.manifest.id);
    const probe = probeOf(extension).then((found) => (isTolerated ? found : refuseUnsafe(extension, found)));
    probes.set(extension.manifest.id, { atMs: clock.monotonicMs(), probe });
    return probe;
  };
  const recentProbe = (extension: Extension): Promise<Probe> => {
    const known = probes.get(extension.manifest.id);
    const fresh = known && clock.monotonicMs() - known.atMs < PROBE_LASTS_MS;
    return fresh ? known.probe : probeAnew(extension);
  };

  return {
    get(extensionId) {
      const extension = byId.get(extensionId);
      if (extension) return extension;
      throw new SandboxerError("extension_unavailable", `no extension ${extensionId} is configured`);
    },
    all: () => [...byId.values()],
    offers: (isRuledOut = () => false) =>
      Promise.all(
        [...byId.values()].map(async (extension) => {
          const manifest = pricedManifest(extension.manifest, prices);
          return { manifest, probe: isRuledOut(manifest) ? NOT_ASKED : await recentProbe(extension) };
        }),
      ),
    async toleratedOf(extensionId) {
      const extension = byId.get(extensionId);
      return (extension && (await recentProbe(extension)).unsafe) ?? [];
    },
    async doctor() {
      const entries = [...byId].map(async ([id, one]) => [id, await probeAnew(one)] as const);
      return new Map(await Promise.all(entries));
    },
  };
}

/** Self-hosted capacity costs what its operator says. */
function pricedManifest(manifest: Manifest, prices: Prices): Manifest {
  const { microUsdPerHour, pausedMicroUsdPerHour } = prices[manifest.id] ?? {};
  return {
    ...manifest,
    price: {
      ...manifest.price,
      ...(microUsdPerHour !== undefined && { microUsdPerHour }),
      ...(pausedMicroUsdPerHour !== undefined && { pausedMicroUsdPerHour }),
    },
  };
}

/** What is below the floor of what is safe is not used, unless the operator says that it is to be. */
function refuseUnsafe({ manifest: { id } }: Extension, probe: Probe): Probe {
  const { status, findings, unsafe } = probe;
  if (status !== "offer" || !unsafe || unsafe.length === 0) return probe;
  const fixes = findings.flatMap((one) => (!one.ok && unsafe.includes(one.message) ? one.fix : []));
  const fix = `${fixes.join(" ") || "Update it."} To use it all the same: allowUnsafeRuntime: [${id}] in the configuration; each sandbox then says so.`;
  return { status: "unavailable", reason: unsafe.join("; "), fix, findings, unsafe };
}

/** A probe that throws or does not answer is an answer: this extension is unavailable. */
async function probeOf(extension: Extension): Promise<Probe> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("its probe did not answer")), PROBE_PATIENCE_MS);
  try {
    return await Promise.race([extension.probe(), tooLate]);
  } catch (error) {
    const { message, hint } = SandboxerError.from(error);
    return { status: "unavailable", reason: message, fix: hint, findings: [] };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * An extension that breaks its word and throws something else is an extension that failed. With
 * `withinMs`, so is one that does not answer: what it does after all is for a later reconcile.
 */
export async function ask<T>(
  extension: Extension,
  call: (extension: Extension) => Promise<T>,
  withinMs?: number,
): Promise<T> {
  try {
    const answer = call(extension);
    return await (withinMs === undefined ? answer : within(withinMs, answer));
  } catch (error) {
    if (SandboxerError.is(error)) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new SandboxerError("extension_failed", `${extension.manifest.id}: ${message}`, { cause: error });
  }
}

async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  // Later than the signal of the same patience, whose own error says more.
  const timer = setTimeout(
    () => reject(new SandboxerError("deadline_exceeded", "it did not answer in time")),
    ms + SIGNALLED_BEFORE_MS,
  );
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * How long an extension is given; it may hold to the signal, and a later reconcile mends the rest.
 * The signal's clock runs from its first look on: most calls are over without one, and a timer for
 * each would outlive them by minutes.
 */
export function callContext<More extends object>(
  installationId: string,
  patienceMs: number,
  more?: More,
): CallContext & More {
  let signal: AbortSignal | undefined;
  return {
    installationId,
    ...(more as More),
    get signal() {
      signal ??= AbortSignal.timeout(patienceMs);
      return signal;
    },
  };
}
