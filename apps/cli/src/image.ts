import { resolve } from "node:path";
import { type Image, SandboxerError } from "@sandboxer/contract";

export interface ImageOptions {
  readonly image?: string;
  readonly rootfs?: string;
}

export function imageOf({ image, rootfs }: ImageOptions): Image {
  if (image !== undefined && rootfs !== undefined) {
    throw new SandboxerError("invalid_request", "--image and --rootfs exclude each other");
  }
  if (image !== undefined) return { kind: "oci", ref: image };
  return rootfs === undefined ? { kind: "host" } : { kind: "rootfs", path: resolve(rootfs) };
}

export function describeImage(image: Image): string {
  if (image.kind === "host") return "host";
  return image.kind === "oci" ? image.ref : image.path;
}
