import type { Sandbox } from "@sandboxer/contract";
import type { House } from "../house.ts";

/** Nothing of it outlives a power cut, whatever the disk says of it. */
export function endsWithThisMachine({ registry }: House, { spec }: Sandbox, extensionId: string): boolean {
  return spec.persistence === "ephemeral" && registry.get(extensionId).manifest.endsWithThisMachine === true;
}
