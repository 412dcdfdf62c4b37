import type { Principal, Sandbox } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { connect } from "./control/lifecycle.ts";
import type { Desk } from "./desk.ts";
import { notesOf } from "./labels.ts";
import { retentionOf } from "./timeouts.ts";

/** How long one that its own traffic woke runs on at least; else for as long as it was made to run. */
const LEAST_WOKEN_S = 300;

/**
 * Wakes what sleeps and is to wake when it is asked for. One whose memory was
 * not kept is started by a word of its own only, as with E2B: nothing in it would hear the call.
 */
export async function wakeOnUse(
  core: Core,
  desk: Desk,
  principal: Principal,
  sandbox: Sandbox,
): Promise<Sandbox> {
  if (sandbox.state !== "paused" || sandbox.pauseDepth === "disk") return sandbox;
  if (notesOf(sandbox)["auto-resume"] !== "true") return sandbox;
  const madeForS = (sandbox.spec.ttlMs - retentionOf(sandbox)) / 1_000;
  const { sandbox: woken } = await connect(core, principal, sandbox, Math.max(LEAST_WOKEN_S, madeForS));
  desk.autoPause.watch(woken);
  return woken;
}
