import { join } from "node:path";
import { collect, type Principal, SandboxerError } from "@sandboxer/contract";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { auditBooks } from "../test/books.ts";
import { openers } from "../test/gateway.ts";
import { createPlainExtension, type PlainExtension } from "../test/plain-extension.ts";
import type { Core } from "./index.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);

/** What ought to be: who lives under which name, whether it sleeps, and who is attached to it. */
type Model = Map<string, { state: "running" | "paused"; attachments: string[] }>;

interface Real {
  core: Core;
  readonly principal: Principal;
  readonly plain: PlainExtension;
  restart(): Promise<Core>;
}

type Step = (model: Model, real: Real) => Promise<void>;

/** A verb under one name, its prediction and its check in one. */
class Verb implements fc.AsyncCommand<Model, Real> {
  readonly what: string;
  readonly step: Step;
  constructor(what: string, step: Step) {
    this.what = what;
    this.step = step;
  }
  check(): boolean {
    return true;
  }
  async run(model: Model, real: Real): Promise<void> {
    await this.step(model, real);
    await expectSame(model, real);
  }
  toString(): string {
    return this.what;
  }
}

async function expectSame(model: Model, { core, principal, plain }: Real): Promise<void> {
  const { sandboxes } = await core.list(principal, { states: ["running", "paused"], limit: 200 });
  const found = sandboxes.map(({ name = "", state }) => [name, state]).sort();
  expect(found).toEqual([...model].map(([name, { state }]) => [name, state]).sort());
  const asleep = sandboxes.filter(({ location }) => plain.paused.has(location?.ref ?? ""));
  expect(asleep.map(({ name }) => name).sort()).toEqual(
    found.filter(([, state]) => state === "paused").map(([name]) => name),
  );
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (error) => SandboxerError.from(error).code,
  );

/** What answers as long as there is one, and is not found where there is none. */
const needing =
  (
    act: (real: Real, name: string) => Promise<unknown>,
    then: (one: NonNullable<ReturnType<Model["get"]>>) => string = () => "ok",
  ) =>
  (name: string): Step =>
  async (model, real) => {
    const one = model.get(name);
    expect(await codeOf(act(real, name))).toBe(one ? then(one) : "not_found");
  };

const becoming = (state: "running" | "paused") => (one: { state: string }) => {
  one.state = state;
  return "ok";
};

const STEPS: Readonly<Record<string, (name: string) => Step>> = {
  create:
    (name) =>
    async (model, { core, principal }) => {
      const code = await codeOf(core.create(principal, { name, ttlMs: 60_000 }));
      expect(code).toBe(model.has(name) ? "conflict" : "ok");
      if (code === "ok") model.set(name, { state: "running", attachments: [] });
    },
  destroy:
    (name) =>
    async (model, { core, principal }) => {
      expect(await codeOf(core.destroy(principal, name))).toBe(model.delete(name) ? "ok" : "not_found");
    },
  pause: needing(({ core, principal }, name) => core.pause(principal, name), becoming("paused")),
  resume: needing(({ core, principal }, name) => core.resume(principal, name), becoming("running")),
  extend: needing(({ core, principal }, name) => core.extend(principal, name, { ttlMs: 30_000 })),
  receipt: needing(({ core, principal }, name) => core.receipt(principal, name)),
  exec: needing(
    async ({ core, principal }, name) => collect(await core.exec(principal, name, { argv: ["true"] })),
    ({ state }) => (state === "running" ? "ok" : "invalid_state"),
  ),
  attach:
    (name) =>
    async (model, { core, principal }) => {
      const one = model.get(name);
      const work = core.attach(principal, { mode: "chosen", sandbox: name });
      expect(await codeOf(work)).toBe(one ? "ok" : "not_found");
      if (!one) return;
      one.attachments.push((await work).attachment.id);
      one.state = "running";
    },
  detach:
    (name) =>
    async (model, { core, principal }) => {
      const one = model.get(name);
      const attachment = one?.attachments.shift();
      if (!one || attachment === undefined) return;
      expect(await codeOf(core.detach(principal, attachment))).toBe("ok");
      if (one.attachments.length === 0) one.state = "paused";
    },
};

it("RE-14 does what a model of it does, one verb after the other, also across restarts", {
  timeout: 120_000,
}, async () => {
  const verbs = fc.tuple(fc.constantFrom(...Object.keys(STEPS)), fc.constantFrom("one", "two"));
  const told = verbs.map(
    ([verb, name]) => new Verb(`${verb} ${name}`, STEPS[verb]?.(name) ?? (async () => {})),
  );
  const restart = fc.constant(
    new Verb("restart", async (_, real) => {
      await real.core.close();
      real.core = await real.restart();
      await real.core.start();
    }),
  );
  const commands = fc.commands([told, told, told, told, restart], { maxCommands: 30 });
  await fc.assert(
    fc.asyncProperty(commands, async (all) => {
      const path = join(temporaryFolder(), "store.db");
      const plain = createPlainExtension(join(temporaryFolder(), "plain"), {
        facets: ["pause", "users"],
        price: { basis: "provisioned", microUsdPerHour: 3_600_000, pausedMicroUsdPerHour: 360_000 },
      });
      const { core, principal, restart } = await openGateway([plain], openStore(path));
      const real: Real = { core, principal, plain, restart };
      await fc.asyncModelRun(() => ({ model: new Map(), real }), all);
      for (const { id } of (await real.core.list(principal, { states: ["running", "paused"] })).sandboxes) {
        await real.core.destroy(principal, id);
      }
      expect(await plain.list({ installationId: "any" })).toEqual([]);
      expect(await real.core.getBudget(principal)).toMatchObject({ heldMicroUsd: 0 });
      await real.core.close();
      auditBooks(path);
    }),
    { numRuns: 60 },
  );
});
