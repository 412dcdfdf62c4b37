import { resolve } from "node:path";
import type { Image } from "@sandboxer/contract";

export function imageOf(rootfs: string | undefined): Image {
  return rootfs === undefined ? { kind: "host" } : { kind: "rootfs", path: resolve(rootfs) };
}
