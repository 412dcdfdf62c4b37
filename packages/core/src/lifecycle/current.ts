import { isOver, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";

/** Why a sandbox is to sleep, wake, stop or start. */
export interface Wish {
  /** Absent when the house itself acts. */
  readonly principalId?: string | undefined;
  readonly reason?: string;
  /** Asked when its turn has come: whether that is still wanted. */
  still?(): Promise<boolean>;
}

/** As it is by now; what is over can neither sleep nor wake. */
export async function current(house: House, sandboxId: string): Promise<Sandbox> {
  const sandbox = await house.store.getSandboxById(sandboxId);
  if (!sandbox || isOver(sandbox.state) || sandbox.state === "destroying") {
    throw new SandboxerError("sandbox_gone", `the sandbox is ${sandbox?.state ?? "gone"}`, {
      details: { sandboxId },
    });
  }
  return sandbox;
}
