import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Spent } from "./guard/ward.ts";

const WRITE_EVERY_MS = 1_000;

/** What sandboxes have used of their budgets: a restart of guard or gateway gives nothing back. */
export interface Spending {
  of(sandbox: string): Map<string, Spent>;
  note(sandbox: string, purse: string, spent: Spent): void;
  /** Nobody will ask for it again. */
  drop(sandbox: string): void;
  /** Of which sandboxes something is written down. */
  kept(): string[];
  /** Writes what has not been written yet. */
  flush(): void;
}

export function createSpending(dir: string): Spending {
  const known = new Map<string, Map<string, Spent>>();
  const unwritten = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const pathOf = (sandbox: string) => join(dir, `${sandbox}.spent.json`);

  const of = (sandbox: string): Map<string, Spent> => {
    const found = known.get(sandbox) ?? read(pathOf(sandbox));
    known.set(sandbox, found);
    return found;
  };
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    for (const sandbox of unwritten) {
      const path = pathOf(sandbox);
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      writeFileSync(`${path}.new`, JSON.stringify(Object.fromEntries(of(sandbox))), { mode: 0o600 });
      renameSync(`${path}.new`, path);
    }
    unwritten.clear();
  };
  return {
    of,
    note(sandbox, purse, spent) {
      of(sandbox).set(purse, spent);
      unwritten.add(sandbox);
      timer ??= setTimeout(flush, WRITE_EVERY_MS).unref();
    },
    drop(sandbox) {
      known.delete(sandbox);
      unwritten.delete(sandbox);
      for (const path of [pathOf(sandbox), `${pathOf(sandbox)}.new`]) rmSync(path, { force: true });
    },
    kept() {
      const names = existsSync(dir) ? readdirSync(dir) : [];
      return [...new Set(names.flatMap((name) => /^(\w+)\.spent\.json/.exec(name)?.[1] ?? []))];
    },
    flush,
  };
}

function read(path: string): Map<string, Spent> {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(path, "utf8")) as Record<string, Spent>));
  } catch {
    return new Map();
  }
}
