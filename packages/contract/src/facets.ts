import type { Extension } from "./extension.ts";
import type { Facet } from "./manifest.ts";

/** Facets of the extension itself; those of a box are seen on the box. */
const OF_EXTENSIONS = ["pause", "stop", "metrics", "network", "images"] as const satisfies readonly Facet[];

/** A facet is there if and only if the manifest lists it; each sentence names one that breaks this. */
export function facetProblems(extension: Extension): string[] {
  return OF_EXTENSIONS.filter(
    (facet) => extension.manifest.facets.includes(facet) !== (extension[facet] !== undefined),
  ).map((facet) =>
    extension[facet] ? `has ${facet}, and does not list it` : `lists ${facet}, and does not have it`,
  );
}
