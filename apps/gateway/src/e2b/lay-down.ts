import { type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";

export type LayDown = (principal: Principal, sandboxId: string) => Promise<Sandbox>;

/**
 * What E2B's pause without memory leaves behind: the files, and nothing that runs. Where an
 * extension cannot stop a sandbox and keep it, what runs ends and the rest sleeps; where it cannot
 * sleep either, nothing ends.
 */
export function layingDown(core: Core, forget: (sandboxId: string) => void): LayDown {
  return async (principal, sandboxId) => {
    try {
      return await core.stop(principal, sandboxId, { keepsEphemeral: true });
    } catch (error) {
      if (!SandboxerError.is(error) || error.code !== "unsupported") throw error;
      await core.pause(principal, sandboxId);
      await core.resume(principal, sandboxId);
      await dropProcesses(core, principal, sandboxId);
      return await core.pause(principal, sandboxId);
    } finally {
      forget(sandboxId);
    }
  };
}

async function dropProcesses(core: Core, principal: Principal, sandboxId: string): Promise<void> {
  const running = (await core.ps(principal, sandboxId)).filter(({ exit }) => exit === undefined);
  await Promise.allSettled(
    running.map(async ({ id }) => {
      const process = await core.attachProcess(principal, sandboxId, id);
      await process.signal("KILL");
      process.detach();
    }),
  );
}
