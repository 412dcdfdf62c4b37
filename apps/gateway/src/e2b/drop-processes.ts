import type { DropProcesses } from "./auto-pause.ts";

/** What E2B's pause without memory leaves behind: the files, and nothing that runs. */
export const dropProcesses: DropProcesses = async (core, principal, sandboxId) => {
  const running = (await core.ps(principal, sandboxId)).filter(({ exit }) => exit === undefined);
  await Promise.allSettled(
    running.map(async ({ id }) => {
      const process = await core.attachProcess(principal, sandboxId, id);
      await process.signal("KILL");
      process.detach();
    }),
  );
};
