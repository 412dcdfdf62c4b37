import { type Facet, SandboxerError } from "@sandboxer/contract";

/** A facet of a box, where its extension has it. */
export function demand<T>(name: Facet, facet: T | undefined): T {
  if (facet !== undefined) return facet;
  throw new SandboxerError("unsupported", `this sandbox's extension has no ${name}`, {
    details: { facet: name },
  });
}
