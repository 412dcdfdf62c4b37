import { SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { type Context, createContext } from "./context.ts";
import { languageOf } from "./languages.ts";

const MOST_CONTEXTS = 64;
const FROM_THE_START = ["python", "javascript"];
export const HOME = "/home/user";

/** The contexts of every sandbox that this gateway knows of; they go with it. */
export interface Contexts {
  list(sandboxId: string): Context[];
  make(sandboxId: string, language: string, cwd: string): Context;
  /** By id, or the language's own one; without either, Python's. */
  find(sandboxId: string, asked: { readonly id?: string; readonly language?: string }): Context;
  remove(sandboxId: string, id: string): void;
}

export function createContexts(core: Core): Contexts {
  const known = new Map<string, Context[]>();

  function list(sandboxId: string): Context[] {
    const found = known.get(sandboxId);
    if (found) return found;
    const first = FROM_THE_START.map((name) => createContext(core, sandboxId, languageOf(name), HOME));
    known.set(sandboxId, first);
    return first;
  }
  function make(sandboxId: string, language: string, cwd: string): Context {
    const all = list(sandboxId);
    if (all.length >= MOST_CONTEXTS) {
      throw new SandboxerError("rate_limited", `a sandbox has at most ${MOST_CONTEXTS} contexts`);
    }
    const made = createContext(core, sandboxId, languageOf(language), cwd);
    all.push(made);
    return made;
  }
  function byId(sandboxId: string, id: string): Context {
    const found = list(sandboxId).find((context) => context.id === id);
    if (found) return found;
    throw new SandboxerError("not_found", `Context ${id.slice(0, 64)} not found`);
  }
  return {
    list,
    make,
    find(sandboxId, { id, language = "python" }) {
      if (id !== undefined) return byId(sandboxId, id);
      const { name } = languageOf(language);
      const own = list(sandboxId).find((context) => context.language === name && context.cwd === HOME);
      return own ?? make(sandboxId, name, HOME);
    },
    remove(sandboxId, id) {
      byId(sandboxId, id).restart();
      known.set(
        sandboxId,
        list(sandboxId).filter((context) => context.id !== id),
      );
    },
  };
}
