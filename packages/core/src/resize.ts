import { type Principal, type TerminalSize, terminalSizeSchema } from "@sandboxer/contract";
import { refuseOthersProcess } from "./attachments/own-process.ts";
import { demand } from "./facet.ts";
import type { House } from "./house.ts";
import { parse } from "./parse.ts";
import { authorize } from "./policy/authorize.ts";
import { reach } from "./reach.ts";

export async function resize(
  house: House,
  principal: Principal,
  idOrName: string,
  processId: string,
  input: TerminalSize,
): Promise<void> {
  authorize(principal.chain, "sandbox.exec");
  const size = parse(terminalSizeSchema, input);
  const reached = await reach(house, principal, "sandbox.exec", idOrName);
  await refuseOthersProcess(house, principal, reached, processId);
  const { box } = reached;
  await demand("pty", box.pty).resize(processId, size);
}
