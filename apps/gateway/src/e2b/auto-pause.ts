import { type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import type { Log } from "../log.ts";
import { noteLabel, notesOf } from "./labels.ts";
import type { LayDown } from "./lay-down.ts";
import { endOf } from "./timeouts.ts";

/** How often is looked for what nobody told of: what went on by another door, or could not sleep before. */
const EVERY_MS = 60_000;

/** Puts sandboxes to sleep at the end of their time that asked for that instead of an end. */
export interface AutoPause {
  /** Told of every sandbox whose end has moved. */
  watch(sandbox: Sandbox): void;
  close(): Promise<void>;
}

interface Watched {
  readonly atMs: number;
  readonly timer: NodeJS.Timeout;
}

export function createAutoPause(core: Core, log: Log, layDown: LayDown): AutoPause {
  const watched = new Map<string, Watched>();
  const looking = new Map<string, Promise<void>>();
  let isClosed = false;

  const heard = (what: string, work: Promise<void>) =>
    work.catch((error) => {
      const { code, message } = SandboxerError.from(error);
      log({ level: "error", event: "background", what, code, message });
    });

  /** As who made it: whoever moved its end last need not be one who may put it to sleep. */
  async function sleep(sandboxId: string): Promise<void> {
    const [maker] = await core.makersOf(sandboxId);
    if (!maker) return;
    const sandbox = await core.get(maker, sandboxId);
    if (sandbox.state !== "running") return;
    if (endOf(sandbox) > Date.now()) return watch(sandbox);
    const isStop = notesOf(sandbox)["on-timeout"] === "stop";
    await (isStop ? layDown(maker, sandboxId) : core.pause(maker, sandboxId));
  }

  function look(sandboxId: string): void {
    watched.delete(sandboxId);
    if (isClosed || looking.has(sandboxId)) return;
    const work = heard(`pausing ${sandboxId} on time`, sleep(sandboxId));
    looking.set(
      sandboxId,
      work.finally(() => looking.delete(sandboxId)),
    );
  }

  function watch(sandbox: Sandbox): void {
    const known = watched.get(sandbox.id);
    const atMs = endOf(sandbox);
    const isWanted = notesOf(sandbox)["on-timeout"] !== undefined && sandbox.state === "running";
    if (isWanted && known?.atMs === atMs) return;
    clearTimeout(known?.timer);
    watched.delete(sandbox.id);
    if (!isWanted || isClosed) return;
    const timer = setTimeout(look, Math.max(0, atMs - Date.now()), sandbox.id).unref();
    watched.set(sandbox.id, { atMs, timer });
  }

  async function watchAll(): Promise<void> {
    for (const sandbox of await core.listMarked(noteLabel("on-timeout"))) watch(sandbox);
  }

  const sweep = () => void heard("looking for what is to be paused on time", watchAll());
  const again = setInterval(sweep, EVERY_MS).unref();
  // Also those of a gateway before this one, whose end may have come while there was none.
  sweep();

  return {
    watch,
    async close() {
      isClosed = true;
      clearInterval(again);
      for (const { timer } of watched.values()) clearTimeout(timer);
      await Promise.all(looking.values());
    },
  };
}
