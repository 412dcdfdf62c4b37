import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collect, type Principal, SandboxerError } from "@sandboxer/contract";
import { type Core, createCore, createRootKey, openSqliteStore } from "@sandboxer/core";
import { createLocalExtension } from "@sandboxer/extensions/local";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { rowsOf, troubleInTheBooks } from "./books.ts";
import { type Call, explain, type State, VERBS, type Verb } from "./linear.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 180_000 });

describe("verbs at once on one sandbox", () => {
  let dir: string;
  let core: Core;
  let principal: Principal;
  let close: () => Promise<void>;
  let names = 0;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "sandboxer-linear-"));
    const store = openSqliteStore(join(dir, "state.db"));
    ({ principal } = await createRootKey(store));
    core = await createCore({ store, extensions: [createLocalExtension({ dir: join(dir, "engine") })] });
    await core.start();
    close = async () => {
      await core.close();
      await store.close();
    };
  });
  afterAll(async () => {
    await close();
    await removeEngine(join(dir, "engine"), dir);
  });

  const act: Record<Verb, (name: string) => Promise<string>> = {
    create: async (name) => (await core.create(principal, { name, ttlMs: 60_000 })).state,
    get: async (name) => (await core.get(principal, name)).state,
    async list(name) {
      const { sandboxes } = await core.list(principal, {
        states: ["provisioning", "running", "destroying"],
        limit: 200,
      });
      return sandboxes.find((sandbox) => sandbox.name === name)?.state ?? "none";
    },
    async exec(name) {
      const { exit } = await collect(await core.exec(principal, name, { argv: ["true"] }));
      return exit.kind === "exited" ? "ok" : exit.kind;
    },
    destroy: async (name) => (await core.destroy(principal, name)).state,
  };

  const call = async (verb: Verb, name: string): Promise<Call> => {
    const answer = await act[verb](name).catch((error) => SandboxerError.from(error).code);
    return { verb, answer };
  };

  /** Runs rounds of calls made at once, and after each asks the model whether that can have happened. */
  async function check(before: State, rounds: readonly (readonly Verb[])[]): Promise<void> {
    const name = `one-${++names}`;
    if (before === "running") await core.create(principal, { name, ttlMs: 60_000 });
    let possible = new Set<State>([before]);
    for (const verbs of rounds) {
      const calls = await Promise.all(verbs.map((verb) => call(verb, name)));
      possible = new Set([...possible].flatMap((state) => [...explain(state, calls)]));
      expect(possible.size, `no order explains ${JSON.stringify(calls)}`).toBeGreaterThan(0);
    }
    const { answer } = await call("get", name);
    expect(possible).toContain(answer === "not_found" ? "absent" : answer);
    await call("destroy", name);
    expect(await call("destroy", name)).toEqual({ verb: "destroy", answer: "not_found" });
  }

  it("RE-14 control: the model refuses what cannot have happened", () => {
    const twice = ["running", "running"].map((answer) => ({ verb: "create", answer }) as const);
    expect(explain("absent", twice).size, "two of one name").toBe(0);
    expect(explain("running", [{ verb: "get", answer: "provisioning" }]).size, "back in time").toBe(0);
    expect(explain("absent", [{ verb: "exec", answer: "ok" }]).size, "a ghost").toBe(0);
    expect([...explain("running", [{ verb: "destroy", answer: "destroyed" }])]).toEqual(["absent"]);
  });

  it("RE-14 every pair of verbs, each many times over", async () => {
    for (let time = 0; time < 3; time++) {
      for (const before of ["absent", "running"] as const) {
        for (const one of VERBS) for (const other of VERBS) await check(before, [[one, other]]);
      }
    }
  });

  it("RE-14 any rounds of up to four", async () => {
    const round = fc.array(fc.constantFrom(...VERBS), { minLength: 1, maxLength: 4 });
    const rounds = fc.array(round, { minLength: 1, maxLength: 5 });
    const before = fc.constantFrom<State>("absent", "running");
    await fc.assert(fc.asyncProperty(before, rounds, check), { numRuns: 60, endOnFailure: true });
  });

  it("RE-14 afterwards nothing runs, every charge is closed and the log is whole", () => {
    expect(rowsOf(dir).filter(({ ended }) => ended === null)).toEqual([]);
    expect(rowsOf(dir).length, "control: there was something").toBeGreaterThan(100);
    expect(troubleInTheBooks(dir)).toEqual({ money: [], events: [] });
  });
});
