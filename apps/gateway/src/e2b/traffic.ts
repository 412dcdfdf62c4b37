import { createHash } from "node:crypto";
import type { Sandbox } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";

/** For ports of a sandbox that is not public; the same whenever it is asked for. */
export async function trafficToken(core: Core, { id }: Sandbox): Promise<string> {
  const token = await core.openAccess(await core.standIn(id), id);
  return createHash("sha256").update(`traffic ${token}`).digest("hex");
}
