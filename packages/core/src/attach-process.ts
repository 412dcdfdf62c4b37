import type { Principal, Process } from "@sandboxer/contract";
import { refuseOthersProcess } from "./attachments/own-process.ts";
import type { House } from "./house.ts";
import { leasedProcess } from "./leased.ts";
import { authorize } from "./policy/authorize.ts";
import { reach } from "./reach.ts";

export async function attachProcess(
  house: House,
  principal: Principal,
  idOrName: string,
  processId: string,
  from?: { stdout?: number; stderr?: number },
): Promise<Process> {
  authorize(principal.chain, "sandbox.exec");
  const reached = await reach(house, principal, "sandbox.exec", idOrName);
  await refuseOthersProcess(house, principal, reached, processId);
  const { box } = reached;
  const process = await box.attachProcess(processId, from);
  return leasedProcess(house.leases, principal, box, process, "reader");
}
