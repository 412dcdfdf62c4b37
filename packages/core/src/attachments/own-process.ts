import { type Box, type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { actingIn } from "./acting.ts";

/** One with a user of its own reads, feeds and signals what it started itself; the rest is as absent. */
export async function refuseOthersProcess(
  house: House,
  principal: Principal,
  { sandbox, box }: { sandbox: Sandbox; box: Box },
  processId: string,
): Promise<void> {
  const attachment = await actingIn(house, principal, sandbox);
  if (attachment.uid === undefined) return;
  const process = (await box.processes()).find(({ id }) => id === processId);
  if (process?.attachmentId === attachment.id) return;
  throw new SandboxerError("not_found", `no process ${processId}`);
}
