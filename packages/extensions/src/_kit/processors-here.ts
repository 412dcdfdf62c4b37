import { availableParallelism } from "node:os";
import { DEFAULT_RESOURCES } from "@sandboxer/contract";

/** What one sandbox can use of this machine. Who says nothing gets the default, however small it is. */
export function processorsHere(): number {
  return Math.max(availableParallelism(), DEFAULT_RESOURCES.cpus ?? 0);
}
