// A way out as somebody else would publish it: plain JavaScript on the published packages alone.
import { createLocalExtension } from "@sandboxer/extensions/local";

/** @type {(place: { dir: string, options: Record<string, unknown> }) => import("@sandboxer/contract").Extension} */
export function createExtension({ dir, options }) {
  const engine = createLocalExtension({ dir });
  const manifest = { ...engine.manifest, id: "sample", title: "a sample of an extension of others" };
  return { ...engine, manifest: /** @type {any} */ ({ ...manifest, ...options }) };
}
