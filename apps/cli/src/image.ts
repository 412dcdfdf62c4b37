import { resolve } from "node:path";
import { type Image, SandboxerError } from "@sandboxer/contract";

export interface ImageOptions {
  readonly image?: string;
  readonly rootfs?: string;
  readonly tools?: string[];
}

export function imageOf({ image, rootfs, tools }: ImageOptions): Image {
  if ([image, rootfs, tools].filter((given) => given !== undefined).length > 1) {
    throw new SandboxerError("invalid_request", "--image, --rootfs and --tools exclude each other");
  }
  if (image !== undefined) return { kind: "oci", ref: image };
  if (rootfs !== undefined) return { kind: "rootfs", path: resolve(rootfs) };
  return { kind: "host", ...(tools && { tools: tools.map((folder) => resolve(folder)) }) };
}

export function describeImage(image: Image): string {
  if (image.kind === "host") return image.tools ? "host+tools" : "host";
  return image.kind === "oci" ? image.ref : image.path;
}
