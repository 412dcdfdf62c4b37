import type { Principal, Process } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";

/**
 * The processes whose output this gateway is carrying. Input and signals come in requests of
 * their own and must reach the same connection. An entry serves only the key that opened it:
 * any other is asked about by core, with its own rights.
 */
export interface LiveProcesses {
  /** Keeps a process within reach until the returned function is called. */
  hold(principal: Principal, sandbox: string, process: Process): () => void;
  reach(principal: Principal, sandbox: string, processId: string): Promise<Process>;
}

export function createLiveProcesses(core: Core): LiveProcesses {
  const held = new Map<string, Process>();
  const keyOf = (principal: Principal, sandbox: string, processId: string) =>
    `${principal.keyId} ${sandbox} ${processId}`;

  function hold(principal: Principal, sandbox: string, process: Process): () => void {
    const key = keyOf(principal, sandbox, process.id);
    held.set(key, process);
    return () => {
      if (held.get(key) === process) held.delete(key);
    };
  }

  return {
    hold,
    async reach(principal, sandbox, processId) {
      const known = held.get(keyOf(principal, sandbox, processId));
      if (known) return known;
      const process = await core.attachProcess(principal, sandbox, processId);
      void discardOutput(process, hold(principal, sandbox, process));
      return process;
    },
  };
}

/** An attached process whose output nobody reads would stop when its window is full. */
async function discardOutput(process: Process, release: () => void): Promise<void> {
  try {
    for await (const _ of process.events);
  } catch {
    // The connection ended; whoever asks next attaches anew.
  } finally {
    release();
  }
}
