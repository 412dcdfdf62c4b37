import type { Image, Sandbox } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { placeOf } from "../place.ts";

/** The very image that a sandbox lies on: what it wrote lies over that one alone, and names move on. */
export async function pinnedImage(house: House, sandbox: Sandbox): Promise<Image> {
  const { image } = sandbox.spec;
  if (image.kind !== "oci" || image.ref.includes("@")) return image;
  const place = placeOf(house, sandbox);
  const digest = await place?.extension.images?.imageOf(place.ref, image.ref);
  return digest === undefined ? image : { kind: "oci", ref: `${image.ref}@${digest}` };
}
