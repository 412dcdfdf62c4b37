import { createHash, randomUUID } from "node:crypto";
import { type Principal, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { type Context, createContext } from "./context.ts";
import { languageOf } from "./languages.ts";
import { purposeOf } from "./runner.ts";

const MOST_CONTEXTS = 64;
const MOST_SANDBOXES = 10_000;
const FROM_THE_START = ["python", "javascript"];
export const HOME = "/home/user";

/**
 * The contexts of sandboxes. What they are stands with their runners, inside: a gateway that knows
 * nothing of a sandbox yet looks there.
 */
export interface Contexts {
  list(principal: Principal, sandboxId: string): Promise<Context[]>;
  make(principal: Principal, sandboxId: string, language: string, cwd: string): Promise<Context>;
  /** By id, or the language's own one; without either, Python's. */
  find(
    principal: Principal,
    sandboxId: string,
    asked: { readonly id?: string; readonly language?: string },
  ): Promise<Context>;
  remove(principal: Principal, sandboxId: string, id: string): Promise<void>;
  /** Of a sandbox that is over. */
  forget(sandboxId: string): void;
}

export function createContexts(core: Core): Contexts {
  const known = new Map<string, Promise<Context[]>>();

  /** Those that run, and those that every sandbox has, which may not run yet. */
  async function look(principal: Principal, sandboxId: string): Promise<Context[]> {
    const running = (await core.ps(principal, sandboxId)).flatMap((one) => purposeOf(one) ?? []);
    const own = FROM_THE_START.map((language) => ({
      context: firstIdOf(sandboxId, language),
      language,
      cwd: HOME,
    }));
    const all = new Map([...own, ...running].map((one) => [one.context, one]));
    return [...all.values()].map(({ context: id, language, cwd }) =>
      createContext(core, sandboxId, languageOf(language), { id, cwd, mayRun: true }),
    );
  }
  function list(principal: Principal, sandboxId: string): Promise<Context[]> {
    const found = known.get(sandboxId);
    if (found) return found;
    const looked = look(principal, sandboxId);
    looked.catch(() => known.delete(sandboxId));
    known.set(sandboxId, looked);
    if (known.size > MOST_SANDBOXES) known.delete([...known.keys()][0] as string);
    return looked;
  }
  async function makeAmong(
    all: Context[],
    principal: Principal,
    sandboxId: string,
    { language, cwd }: { readonly language: string; readonly cwd: string },
  ): Promise<Context> {
    if (all.length >= MOST_CONTEXTS) {
      throw new SandboxerError("rate_limited", `a sandbox has at most ${MOST_CONTEXTS} contexts`);
    }
    const facts = { id: randomUUID(), cwd, mayRun: false };
    const made = createContext(core, sandboxId, languageOf(language), facts);
    // It is there before it has begun: whoever asks for its language meanwhile gets the same one.
    all.push(made);
    try {
      await made.begin(principal);
    } catch (error) {
      takeOut(all, made.id);
      throw error;
    }
    return made;
  }
  async function byId(principal: Principal, sandboxId: string, id: string): Promise<Context> {
    const found = (await list(principal, sandboxId)).find((context) => context.id === id);
    if (found) return found;
    throw absent(id);
  }
  return {
    list,
    async make(principal, sandboxId, language, cwd) {
      return makeAmong(await list(principal, sandboxId), principal, sandboxId, { language, cwd });
    },
    async find(principal, sandboxId, { id, language = "python" }) {
      if (id !== undefined) return byId(principal, sandboxId, id);
      const { name } = languageOf(language);
      const all = await list(principal, sandboxId);
      const own = all.find((context) => context.language === name && context.cwd === HOME);
      return own ?? makeAmong(all, principal, sandboxId, { language: name, cwd: HOME });
    },
    async remove(principal, sandboxId, id) {
      const removed = takeOut(await list(principal, sandboxId), id);
      if (!removed) throw absent(id);
      removed.restart(principal);
    },
    forget: (sandboxId) => void known.delete(sandboxId),
  };
}

function takeOut(all: Context[], id: string): Context | undefined {
  const at = all.findIndex((context) => context.id === id);
  return at < 0 ? undefined : all.splice(at, 1)[0];
}

function absent(id: string): SandboxerError {
  return new SandboxerError("not_found", `Context ${id.slice(0, 64)} not found`);
}

/** The same for every gateway. */
function firstIdOf(sandboxId: string, language: string): string {
  const hex = createHash("sha256").update(`${sandboxId} ${language}`).digest("hex");
  return hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
