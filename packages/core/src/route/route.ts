import {
  dollars,
  isAtLeast,
  type Manifest,
  type Probe,
  type RoutePlan,
  type Routing,
  type SandboxSpec,
} from "@sandboxer/contract";
import { type Trust, tooWeak } from "../trust/tier.ts";

export type { RoutePlan } from "@sandboxer/contract";

/** What an extension says it can do, and whether it can here and now. */
export interface Offer {
  readonly manifest: Manifest;
  readonly probe: Probe;
}

/** An extension that satisfies the whole spec, with the facts that rank it. */
export type Candidate = RoutePlan["candidates"][number];

/** Pure: the same spec and offers give the same plan, in whatever order the offers come. */
export function route(
  spec: SandboxSpec,
  offers: readonly Offer[],
  routing: Routing = {},
  trust?: Trust,
): RoutePlan {
  const { policy = "prefer-self-hosted" } = routing;
  const candidates: Candidate[] = [];
  const rejected: { extensionId: string; reason: string }[] = [];
  for (const offer of offers) {
    const { id, hosting, isolation, price } = offer.manifest;
    const reason = whyNot(spec, offer, routing);
    if (reason) rejected.push({ extensionId: id, reason });
    else {
      candidates.push({
        extensionId: id,
        hosting,
        isolation: isolation.class,
        microUsdPerHour: price.microUsdPerHour,
        ...(price.pausedMicroUsdPerHour !== undefined && {
          pausedMicroUsdPerHour: price.pausedMicroUsdPerHour,
        }),
      });
    }
  }
  const classes = candidates.map(({ isolation }) => isolation);
  const kept = candidates.filter(({ extensionId, isolation }) => {
    const reason = tooWeak(trust, isolation, classes);
    if (reason) rejected.push({ extensionId, reason });
    return reason === undefined;
  });
  return {
    policy,
    ...(trust && { trust }),
    candidates: kept.sort(RANKINGS[policy](spec)),
    rejected: rejected.sort((a, b) => compareText(a.extensionId, b.extensionId)),
  };
}

function whyNot(spec: SandboxSpec, { manifest, probe }: Offer, routing: Routing): string | undefined {
  const unfit = whyUnfit(spec, manifest, routing);
  if (unfit) return unfit;
  return probe.status === "unavailable" ? `unavailable: ${probe.reason}` : undefined;
}

/**
 * Hard filters, by what an extension says of itself; whether it can here and now need not even be
 * asked then. Every one fails closed: what a manifest does not say, it does not offer.
 */
export function whyUnfit(
  spec: SandboxSpec,
  manifest: Manifest,
  { policy, maximumMicroUsdPerHour }: Routing = {},
): string | undefined {
  if (policy === "explicit" && !spec.extensions)
    return "explicit routing names its extensions; none is named";
  if (spec.extensions && !spec.extensions.includes(manifest.id)) return "not among those allowed";
  if (!isAtLeast(manifest.isolation.class, spec.isolation)) {
    return `isolation is ${manifest.isolation.class}; ${spec.isolation} is asked`;
  }
  if (!manifest.images.includes(spec.image.kind)) return `takes no ${spec.image.kind} image`;
  if (spec.workspace && !manifest.workspaces?.includes(spec.workspace.mode)) {
    return `gives no ${spec.workspace.mode} workspace`;
  }
  if (spec.volumes?.length && !manifest.volumes) return "gives no volumes";
  if (spec.from && !manifest.facets.includes("snapshots")) return "restores no snapshot";
  if (manifest.egress !== "enforced" && manifest.egress !== "provider") {
    return `cannot deny egress: its rules are ${manifest.egress}`;
  }
  if (spec.network.egress === "guarded" && !manifest.facets.includes("network")) {
    return "has no way out that the guard could watch";
  }
  if (spec.secrets?.length && manifest.credentials !== "edge") {
    return `would have to be shown the secrets: it puts them in at ${manifest.credentials}`;
  }
  if (!manifest.persistence.includes(spec.persistence)) return `has no ${spec.persistence} sandboxes`;
  const lacking = spec.facets?.filter((facet) => !manifest.facets.includes(facet)) ?? [];
  if (lacking.length > 0) return `has no ${lacking.join(", ")}`;
  const { maximumTtlMs, maximumCpus } = manifest.limits;
  if (maximumTtlMs !== undefined && spec.ttlMs > maximumTtlMs) {
    return `ends a sandbox after ${maximumTtlMs} ms; ${spec.ttlMs} is asked`;
  }
  const { cpus } = spec.resources;
  if (maximumCpus !== undefined && cpus !== undefined && cpus > maximumCpus) {
    return `has ${maximumCpus} processors; ${cpus} are asked`;
  }
  const { microUsdPerHour } = manifest.price;
  if (maximumMicroUsdPerHour !== undefined && microUsdPerHour > maximumMicroUsdPerHour) {
    return `costs ${dollars(microUsdPerHour)} an hour; at most ${dollars(maximumMicroUsdPerHour)} is allowed`;
  }
  return undefined;
}

type Ranking = (a: Candidate, b: Candidate) => number;

const RANKINGS: Readonly<Record<NonNullable<Routing["policy"]>, (spec: SandboxSpec) => Ranking>> = {
  "prefer-self-hosted": () => ownFirst,
  "lowest-cost": () => cheapestFirst,
  explicit:
    ({ extensions = [] }) =>
    (a, b) =>
      extensions.indexOf(a.extensionId) - extensions.indexOf(b.extensionId),
};

function ownFirst(a: Candidate, b: Candidate): number {
  if (a.hosting !== b.hosting) return a.hosting === "self" ? -1 : 1;
  return cheapestFirst(a, b);
}

function cheapestFirst(a: Candidate, b: Candidate): number {
  return a.microUsdPerHour - b.microUsdPerHour || compareText(a.extensionId, b.extensionId);
}

/** By code unit, so that the order does not depend on the machine's locale. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
