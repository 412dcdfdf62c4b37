import { type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import type { Log } from "../log.ts";
import { notesOf } from "./labels.ts";
import type { LayDown } from "./lay-down.ts";
import { endOf } from "./timeouts.ts";

/** Puts sandboxes to sleep at the end of their time that asked for that instead of an end. */
export interface AutoPause {
  /** Told of every sandbox that is seen, so that it also knows those of a former gateway. */
  watch(principal: Principal, sandbox: Sandbox): void;
  close(): void;
}

export function createAutoPause(core: Core, log: Log, layDown: LayDown): AutoPause {
  const timers = new Map<string, { readonly atMs: number; readonly timer: NodeJS.Timeout }>();

  async function look(principal: Principal, sandboxId: string): Promise<void> {
    timers.delete(sandboxId);
    try {
      const sandbox = await core.get(principal, sandboxId);
      if (sandbox.state !== "running") return;
      if (endOf(sandbox) > Date.now()) return watch(principal, sandbox);
      const isStop = notesOf(sandbox)["on-timeout"] === "stop";
      await (isStop ? layDown(principal, sandboxId) : core.pause(principal, sandboxId));
    } catch (error) {
      const { code, message } = SandboxerError.from(error);
      log({ level: "error", event: "background", what: `pausing ${sandboxId} on time`, code, message });
    }
  }

  function watch(principal: Principal, sandbox: Sandbox): void {
    const known = timers.get(sandbox.id);
    const atMs = endOf(sandbox);
    const isWanted = notesOf(sandbox)["on-timeout"] !== undefined && sandbox.state === "running";
    if (isWanted && known?.atMs === atMs) return;
    clearTimeout(known?.timer);
    timers.delete(sandbox.id);
    if (!isWanted) return;
    const timer = setTimeout(look, Math.max(0, atMs - Date.now()), principal, sandbox.id).unref();
    timers.set(sandbox.id, { atMs, timer });
  }

  return {
    watch,
    close() {
      for (const { timer } of timers.values()) clearTimeout(timer);
    },
  };
}
