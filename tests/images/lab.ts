import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Extension, type ImagesFacet, newRowId } from "@sandboxer/contract";
import { createLocalExtension, type LocalOptions } from "@sandboxer/extensions/local";
import { removeEngine } from "../conformance/remove-engine.ts";

/** An engine of the test's own, to take images into. */
export interface Lab {
  readonly place: string;
  readonly extension: Extension;
  readonly images: ImagesFacet;
  readonly context: { readonly installationId: string; readonly orgId: string };
  /** Everything that is kept of images, by name. */
  left(): Promise<string[]>;
  close(): Promise<void>;
}

export async function openLab(options: LocalOptions["images"] = {}): Promise<Lab> {
  const place = await mkdtemp(join(tmpdir(), "sandboxer-images-"));
  const dir = join(place, "engine");
  const extension = createLocalExtension({ dir, images: options });
  const { images } = extension;
  if (!images) throw new Error("the engine keeps no images");
  const context = { installationId: newRowId("ins"), orgId: newRowId("org") };
  return {
    place,
    extension,
    images,
    context,
    async left() {
      const rooms = ["drafts", "layers", "names", "records"];
      const found = rooms.map(async (room) => {
        const names = await readdir(join(dir, "images/oci", room)).catch(() => []);
        return names.map((name) => `${room}/${name}`);
      });
      return (await Promise.all(found)).flat();
    },
    async close() {
      for (const { ref } of await extension.list(context)) await extension.destroy(ref, context);
      await extension.close();
      await removeEngine(dir, place);
    },
  };
}

/** As it would come over a connection. */
export async function* inParts(bytes: Uint8Array, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
