import type { Principal } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import type { Language } from "./languages.ts";
import { findRunner, linesOf, type Runner, startRunner } from "./runner.ts";
import type { Line } from "./translate.ts";

const HEARS_WITHIN_MS = 5_000;

export interface Cell {
  readonly code: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A place where cells run one after the other and names stay. */
export interface Context {
  readonly id: string;
  readonly language: string;
  readonly cwd: string;
  /** Its runner is there when this resolves; else it starts with the first cell. */
  begin(principal: Principal): Promise<void>;
  /** Lines as they come, to be read to the end, `end_of_execution`; `signal` only interrupts the cell. */
  run(principal: Principal, cell: Cell, signal: AbortSignal): AsyncGenerator<Line>;
  /** Forgets every name. */
  restart(principal: Principal): void;
}

interface Facts {
  readonly id: string;
  readonly cwd: string;
  /** A gateway before this one may have started its runner. */
  readonly mayRun: boolean;
}

export function createContext(
  core: Core,
  sandboxId: string,
  language: Language,
  { id, cwd, mayRun }: Facts,
): Context {
  let runner: Promise<Runner> | undefined;
  let looks = mayRun;
  let turn: Promise<unknown> = Promise.resolve();

  async function start(principal: Principal): Promise<Runner> {
    const found = looks ? await findRunner(core, principal, sandboxId, language, id) : undefined;
    looks = false;
    return (
      found ??
      startRunner(core, principal, sandboxId, language, { context: id, language: language.name, cwd })
    );
  }

  function reach(principal: Principal): Promise<Runner> {
    runner ??= start(principal);
    return runner;
  }

  function restart(principal: Principal): void {
    const old = runner ?? (looks ? findRunner(core, principal, sandboxId, language, id) : undefined);
    runner = undefined;
    looks = false;
    void old?.then((one) => one?.process.signal("KILL")).catch(() => {});
  }

  async function* lines(running: Runner, { code, env }: Cell): AsyncGenerator<Line> {
    let how = "";
    for await (const line of linesOf(running, code, env)) {
      if (line.type === "exit") how = ` ${line.how}`;
      else yield line;
      if (line.type === "end_of_execution") return;
    }
    await forget(running);
    const value = `the context ended${how}: its names are gone, and the next cell begins another`;
    yield { type: "error", name: "ContextEnded", value, traceback: "" };
    yield { type: "end_of_execution" };
  }

  /** Another one may have been started meanwhile, which stays. */
  async function forget(running: Runner | undefined): Promise<void> {
    const known = runner;
    if ((await known?.catch(() => undefined)) === running && runner === known) runner = undefined;
  }

  return {
    id,
    language: language.name,
    cwd,
    restart,
    async begin(principal) {
      await reach(principal).catch(async (error) => {
        await forget(undefined);
        throw error;
      });
    },
    async *run(principal, cell, signal) {
      const before = turn;
      let leave = () => {};
      turn = new Promise<void>((resolve) => {
        leave = resolve;
      });
      await before;
      const stop = new AbortController();
      let running: Runner | undefined;
      try {
        signal.throwIfAborted();
        const begun = await reach(principal);
        // Whoever left meanwhile is not heard again; the runner stays for the next cell.
        signal.throwIfAborted();
        running = begun;
        const end = () => restart(principal);
        signal.addEventListener("abort", () => interrupt(begun, end, stop.signal), { once: true });
        yield* lines(begun, cell);
      } catch (error) {
        await forget(running);
        throw error;
      } finally {
        stop.abort();
        leave();
      }
    },
  };
}

/** Ends the cell and keeps the names where the runner can do that; one that does not hear is ended. */
function interrupt({ process }: Runner, restart: () => void, over: AbortSignal): void {
  if (over.aborted) return;
  const timer = setTimeout(restart, HEARS_WITHIN_MS);
  over.addEventListener("abort", () => clearTimeout(timer), { once: true });
  process.signal("INT").catch(restart);
}
