import type { Facet, Principal, Reachability } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { authorize } from "./policy/authorize.ts";
import { findSandbox } from "./reach.ts";

export async function reachability(
  house: House,
  principal: Principal,
  idOrName: string,
): Promise<Reachability> {
  authorize(principal.chain, "sandbox.read");
  const { id, state, expiresAtMs, location } = await findSandbox(house, principal, idOrName);
  const facets = location ? house.registry.get(location.extensionId).manifest.facets : [];
  return {
    schema: 1,
    sandboxId: id,
    state,
    ...(expiresAtMs !== undefined && { untilMs: expiresAtMs }),
    // Only what runs can be reached; its end can still be read about.
    ways: state === "running" ? waysTo(`/v1/sandboxes/${id}`, facets) : [EVENTS],
    hostLabel: `{port}-${id}`,
    facets: [...facets],
    ...(location && { where: { extensionId: location.extensionId, hostId: location.hostId } }),
  };
}

const EVENTS = { kind: "events", method: "GET", path: "/v1/events" } as const;

function waysTo(path: string, facets: readonly Facet[]): Reachability["ways"] {
  const exec = { method: "POST", path: `${path}/exec` } as const;
  return [
    { kind: "exec", ...exec },
    ...(facets.includes("pty") ? [{ kind: "terminal" as const, ...exec }] : []),
    { kind: "files", method: "GET", path: `${path}/files/content` },
    ...(facets.includes("ports")
      ? [
          { kind: "port" as const, method: "POST" as const, path: `${path}/ports/{port}/connections` },
          { kind: "preview" as const, method: "POST" as const, path: `${path}/previews` },
        ]
      : []),
    EVENTS,
  ];
}
