import { SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import type { Shelf } from "./shelf.ts";

export function shelfOf({ shelf }: House): Shelf {
  if (shelf) return shelf;
  throw new SandboxerError("unsupported", "this gateway keeps no snapshots");
}
