import { type Principal, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { within } from "../../rest/silence.ts";
import type { Language } from "./languages.ts";
import { attachRunner, linesOf, type Runner, startRunner, whenFree } from "./runner.ts";
import type { Line } from "./translate.ts";

const HEARS_WITHIN_MS = 5_000;
/** Less than a client waits for the beginning of an answer. */
const FREE_WITHIN_MS = 30_000;

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
  /** Until a runner that is to end has been found, none is started that could be taken for it. */
  let ending: Promise<unknown> | undefined;

  const attach = (principal: Principal) => attachRunner(core, principal, sandboxId, language, id);

  async function start(principal: Principal): Promise<Runner> {
    if (looks) {
      const found = await whenFree(await attach(principal), language);
      // Restarted meanwhile: what was found is gone, and somebody may have begun another.
      if (!looks) return reach(principal);
      looks = false;
      if (found) return found;
    }
    await ending;
    return startRunner(core, principal, sandboxId, language, { context: id, language: language.name, cwd });
  }

  function reach(principal: Principal): Promise<Runner> {
    runner ??= start(principal);
    return runner;
  }

  function restart(principal: Principal): void {
    // One that is not free yet is not waited for.
    const old = looks ? attach(principal) : runner;
    runner = undefined;
    looks = false;
    ending = old?.then((one) => one?.process.signal("KILL")).catch(() => {});
  }

  async function* lines(running: Runner, { code, env }: Cell): AsyncGenerator<Line> {
    let how = "";
    for await (const line of linesOf(running, code, env)) {
      if (line.type === "exit") how = ` ${line.how}`;
      else yield line;
      if (line.type === "end_of_execution") return;
    }
    await forget(running);
    yield* endOf(how);
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
      const coming = reach(principal);
      coming.catch(() => forget(undefined));
      await (looks ? freeInTime(coming) : coming);
    },
    async *run(principal, cell, signal) {
      const before = turn;
      const { promise, resolve: leave } = Promise.withResolvers<void>();
      turn = promise;
      await before;
      const stop = new AbortController();
      let running: Runner | undefined;
      try {
        signal.throwIfAborted();
        const begun = await reach(principal);
        // Whoever left meanwhile is not heard again; the runner stays for the next cell.
        signal.throwIfAborted();
        running = begun;
        const end = () => interrupt(begun, () => restart(principal), stop.signal);
        signal.addEventListener("abort", end, { once: true });
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

function endOf(how: string): Line[] {
  const value = `the context ended${how}: its names are gone, and the next cell begins another`;
  return [{ type: "error", name: "ContextEnded", value, traceback: "" }, { type: "end_of_execution" }];
}

/** A cell that another gateway began goes on, however long; whoever wants the next one learns of it. */
async function freeInTime(coming: Promise<Runner>): Promise<void> {
  if (await within(FREE_WITHIN_MS, coming)) return;
  const message = "this context still runs a cell that began before the gateway did";
  throw new SandboxerError("invalid_state", message, {
    hint: "Try again when it has ended, or restart the context.",
  });
}

/** Ends the cell and keeps the names where the runner can do that; one that does not hear is ended. */
function interrupt({ process }: Runner, restart: () => void, over: AbortSignal): void {
  if (over.aborted) return;
  const timer = setTimeout(restart, HEARS_WITHIN_MS);
  over.addEventListener("abort", () => clearTimeout(timer), { once: true });
  process.signal("INT").catch(restart);
}
