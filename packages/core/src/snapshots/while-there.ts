import { SandboxerError } from "@sandboxer/contract";
import type { Shelf } from "./shelf.ts";

/** What fails because somebody deleted the snapshot meanwhile is told so, and not as damage. */
export async function whileThere<T>(shelf: Shelf, id: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if ((await shelf.all()).some((one) => one.id === id)) throw error;
    throw new SandboxerError("not_found", `the snapshot ${id} was deleted meanwhile`, { cause: error });
  }
}
