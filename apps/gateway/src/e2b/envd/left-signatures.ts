import { SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import type { Log } from "../../log.ts";
import { noteLabel } from "../labels.ts";
import type { Signatures } from "./signatures.ts";

/**
 * Addresses that were signed before this gateway started are as good as ever. Whose they are is told
 * by their tokens alone, and those of who made a sandbox, and of all above, can be made again; what
 * others signed is known once more when they connect.
 */
export async function learnLeft(core: Core, signatures: Signatures, log: Log): Promise<void> {
  try {
    for (const { id } of await core.listMarked(noteLabel("template"))) {
      for (const maker of await core.makersOf(id)) {
        const token = await core.openAccess(maker, id).catch(() => undefined);
        if (token !== undefined) signatures.learn(id, token);
      }
    }
  } catch (error) {
    const { code, message } = SandboxerError.from(error);
    log({ level: "error", event: "background", what: "learning what was signed before", code, message });
  }
}
