import type { Box, Principal, Process, ProcessEvent, Sandbox, Synced } from "@sandboxer/contract";
import { SandboxerError } from "@sandboxer/contract";
import { refuseGuest } from "./attachments/acting.ts";
import { askToJoin } from "./attachments/joining.ts";
import type { House } from "./house.ts";
import { authorize } from "./policy/authorize.ts";
import { reach } from "./reach.ts";

/** The log names this many of the paths. */
const NAMED_AT_MOST = 100;
/** What was written within the kernel's last tick could be written again unseen. */
const SETTLES_AFTER_MS = 20;

/** A sandbox's mirror and the host's folder, brought to the same. */
export async function sync(house: House, principal: Principal, idOrName: string): Promise<Synced> {
  authorize(principal.chain, "workspace.apply");
  const { sandbox, box } = await reach(house, principal, "workspace.apply", idOrName);
  await refuseGuest(house, principal, sandbox);
  await askToJoin(house, principal, sandbox);
  if (!box.mirror) {
    throw new SandboxerError("invalid_request", "the workspace is not a mirror", {
      hint: "Create the sandbox with `mode: mirror`; of a copy-on-write workspace there are `diff` and `apply`.",
    });
  }
  return syncNow(house, principal, sandbox, box.mirror);
}

/** Before a command of a sandbox that has a mirror. */
export async function pushBefore(
  house: House,
  principal: Principal,
  sandbox: Sandbox,
  { mirror }: Box,
): Promise<void> {
  if (mirror) await syncNow(house, principal, sandbox, mirror);
}

/** Its end is told when what it wrote is back. */
export function pullAfter(
  house: House,
  principal: Principal,
  sandbox: Sandbox,
  { mirror }: Box,
  process: Process,
): Process {
  if (!mirror) return process;
  async function* events(): AsyncGenerator<ProcessEvent> {
    for await (const event of process.events) {
      if (event.type === "exit" && mirror) {
        await new Promise((resolve) => setTimeout(resolve, SETTLES_AFTER_MS));
        await syncNow(house, principal, sandbox, mirror);
      }
      yield event;
    }
  }
  return { ...process, events: events() };
}

async function syncNow(
  house: House,
  principal: Principal,
  sandbox: Sandbox,
  mirror: NonNullable<Box["mirror"]>,
): Promise<Synced> {
  const synced = await mirror.sync();
  const { pulled, pushed, kept, heldBack } = synced;
  if (pulled.length + pushed + kept.length + heldBack.length > 0) {
    await house.journal.record({
      type: "workspace.synced",
      orgId: sandbox.orgId,
      atMs: house.clock.nowMs(),
      sandboxId: sandbox.id,
      principalId: principal.id,
      data: {
        source: sandbox.spec.workspace?.source,
        pulled: pulled.slice(0, NAMED_AT_MOST),
        pushed,
        kept: kept.slice(0, NAMED_AT_MOST),
        heldBack: heldBack.slice(0, NAMED_AT_MOST),
      },
    });
  }
  return synced;
}
