import { randomUUID } from "node:crypto";
import { type Principal, type Process, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import type { Language, Speech } from "./languages.ts";
import type { Line } from "./translate.ts";

const HEARS_WITHIN_MS = 5_000;

export interface Cell {
  readonly code: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A place where cells run one after the other and names stay. Its runner starts with the first. */
export interface Context {
  readonly id: string;
  readonly language: string;
  readonly cwd: string;
  /** Lines as they come, to be read to the end, `end_of_execution`; `signal` only interrupts the cell. */
  run(principal: Principal, cell: Cell, signal: AbortSignal): AsyncGenerator<Line>;
  /** Forgets every name. */
  restart(): void;
}

interface Runner {
  readonly process: Process;
  readonly speech: Speech;
  readonly events: ReturnType<Process["events"][typeof Symbol.asyncIterator]>;
}

export function createContext(core: Core, sandboxId: string, language: Language, cwd: string): Context {
  let runner: Promise<Runner> | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  async function start(principal: Principal): Promise<Runner> {
    const speech = language.start();
    const process = await core
      .exec(principal, sandboxId, { argv: [...speech.argv], cwd, stdin: true })
      .catch((error) => {
        if (SandboxerError.from(error).code !== "command_not_found") throw error;
        throw new SandboxerError("invalid_request", `this sandbox has nothing that runs ${language.name}`);
      });
    return { process, speech, events: process.events[Symbol.asyncIterator]() };
  }

  function restart(): void {
    const old = runner;
    runner = undefined;
    void old?.then(({ process }) => process.signal("KILL")).catch(() => {});
  }

  async function* lines({ process, speech, events }: Runner, { code, env }: Cell): AsyncGenerator<Line> {
    await process.writeStdin(Buffer.from(speech.say(code, env)));
    for (;;) {
      const { done, value } = await events.next();
      if (done || value.type === "exit") {
        runner = undefined;
        yield { type: "error", name: "ContextEnded", value: "the context ended", traceback: "" };
        yield { type: "end_of_execution" };
        return;
      }
      for (const line of speech.hear(value.type, value.data)) {
        yield line;
        if (line.type === "end_of_execution") return;
      }
    }
  }

  return {
    id: randomUUID(),
    language: language.name,
    cwd,
    restart,
    async *run(principal, cell, signal) {
      const before = turn;
      let leave = () => {};
      turn = new Promise<void>((resolve) => {
        leave = resolve;
      });
      await before;
      const stop = new AbortController();
      try {
        signal.throwIfAborted();
        runner ??= start(principal);
        const running = await runner;
        signal.addEventListener("abort", () => interrupt(running, restart, stop.signal), { once: true });
        yield* lines(running, cell);
      } catch (error) {
        runner = undefined;
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
