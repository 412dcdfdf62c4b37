import { generateKeyPairSync } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  canMove,
  collect,
  isOver,
  type Principal,
  type Sandbox,
  SandboxerError,
  type SandboxState,
} from "@sandboxer/contract";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { auditBooks } from "../test/books.ts";
import { openers } from "../test/gateway.ts";
import { createPlainExtension, type PlainExtension } from "../test/plain-extension.ts";
import { type Core, createCore, firstBrokenSeq, type Store } from "./index.ts";

const closers: (() => Promise<void> | void)[] = [];
const { openGateway, openStore, temporaryFolder } = openers((close) => void closers.push(close));

let core: Core;
let store: Store;
let plain: PlainExtension;
let principal: Principal;
let path: string;
let names = 0;

beforeAll(async () => {
  path = join(temporaryFolder(), "store.db");
  plain = createPlainExtension(join(temporaryFolder(), "plain"), {
    facets: ["pause", "users", "stop", "snapshots"],
    persistence: ["ephemeral", "persistent"],
    price: { basis: "provisioned", microUsdPerHour: 3_600_000, pausedMicroUsdPerHour: 360_000 },
  });
  ({ store, principal } = await openGateway([plain], openStore(path)));
  const { privateKey } = generateKeyPairSync("ed25519");
  const snapshots = { dir: join(temporaryFolder(), "snapshots"), privateKey };
  core = await createCore({ store, extensions: [plain], snapshots });
  closers.push(() => core.close());
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

const LASTING = { ttlMs: 60_000, persistence: "persistent" } as const;

/** Every verb that touches one sandbox, by its name; each may lose a race, and then says so in our words. */
const VERBS: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
  create: (name) => core.create(principal, { name, ...LASTING }),
  reuse: (name) => core.create(principal, { ttlMs: 60_000, reuse: { scope: "agent", key: name } }),
  get: (name) => core.get(principal, name),
  list: () => core.list(principal),
  exec: async (name) => collect(await core.exec(principal, name, { argv: ["true"] })),
  ps: (name) => core.ps(principal, name),
  files: async (name) => (await core.files(principal, name)).write("a", [Buffer.from("a")]),
  pause: (name) => core.pause(principal, name),
  resume: (name) => core.resume(principal, name),
  stop: (name) => core.stop(principal, name),
  recreate: (name) => core.recreate(principal, name),
  snapshot: (name) => core.takeSnapshot(principal, name),
  fork: (name) => core.fork(principal, name, { count: 2 }),
  network: (name) => core.changeNetwork(principal, name, { egress: "guarded" }),
  reachability: (name) => core.reachability(principal, name),
  preview: (name) => core.openPreview(principal, name, { port: 80 }),
  extend: (name) => core.extend(principal, name, { ttlMs: 30_000 }),
  attach: (name) => core.attach(principal, { mode: "chosen", sandbox: name, hibernate: true }),
  attachOwn: (name) => core.attach(principal, { mode: "chosen", sandbox: name, user: "own" }),
  detach: async (name) => {
    const all = await core.listAttachments(principal, name);
    const [one] = all.filter(({ implicit, detachedAtMs }) => !implicit && detachedAtMs === undefined);
    return one && core.detach(principal, one.id);
  },
  receipt: (name) => core.receipt(principal, name),
  destroy: (name) => core.destroy(principal, name),
};
const NAMES = Object.keys(VERBS);

/** Whatever else a verb answers is a defect. */
const LOSING = ["not_found", "conflict", "invalid_state", "sandbox_gone"];

/** More by need: `RACES=1000` takes minutes. */
const TIMES = Number(process.env.RACES ?? 5);

const BEFORE = ["absent", "running", "paused", "stopped"] as const;
type Before = (typeof BEFORE)[number];

async function prepare(before: Before): Promise<string> {
  const name = `one-${++names}`;
  if (before !== "absent") await core.create(principal, { name, ...LASTING });
  if (before === "paused") await core.pause(principal, name);
  if (before === "stopped") await core.stop(principal, name);
  return name;
}

async function race(name: string, verbs: readonly string[]): Promise<void> {
  const outcomes = await Promise.allSettled(verbs.map((verb) => VERBS[verb]?.(name)));
  for (const [at, outcome] of outcomes.entries()) {
    if (outcome.status === "fulfilled") continue;
    const { code, message } = SandboxerError.from(outcome.reason);
    // A process whose sandbox is ended or whose connection is closed under it has no exit to tell.
    const cut = verbs[at] === "exec" && message.includes("ended without an exit");
    expect(cut ? "sandbox_gone" : code, `${verbs[at]} of ${verbs}: ${message}`).toBeOneOf(LOSING);
  }
}

/** What the row says is what is there. */
function expectTrue({ state, pauseDepth, location }: Sandbox, what: string): void {
  const ref = location?.ref ?? "none";
  expect(existsSync(join(plain.root, ref)), `${what}: its box, ${state}`).toBe(!isOver(state));
  const sleeps = state === "paused" && pauseDepth !== "disk";
  expect(plain.paused.has(ref), `${what}: whether it sleeps, ${state}`).toBe(sleeps);
  if (isOver(state)) return;
  const lies = state === "paused" && pauseDepth === "disk";
  expect(plain.stopped.has(ref), `${what}: whether it is stopped, ${state}`).toBe(lies);
}

async function settle(name: string, what: string): Promise<void> {
  const { sandboxes } = await core.list(principal, { states: ["running", "paused"], limit: 200 });
  for (const sandbox of sandboxes) {
    expectTrue(sandbox, what);
    expectTrue(await core.destroy(principal, sandbox.id), what);
  }
  await expect(core.get(principal, name)).rejects.toMatchObject({ code: "not_found" });
}

describe("verbs at once on one sandbox, without an engine", () => {
  const pairs = NAMES.flatMap((one, at) => NAMES.slice(at).map((other) => [one, other] as const));

  it.for(BEFORE)("RE-14 every pair of verbs on one that is %s", { timeout: 120_000 }, async (before) => {
    expect(pairs.length).toBe((NAMES.length * (NAMES.length + 1)) / 2);
    for (const pair of pairs) {
      const name = await prepare(before);
      await race(name, pair);
      await settle(name, pair.join(" and "));
    }
  });

  it(
    "RE-14 what ends, stops, runs in and copies one, each pair again and again",
    async () => {
      const busy = ["stop", "destroy", "pause", "exec", "snapshot"];
      const often = pairs.filter((pair) => pair.every((verb) => busy.includes(verb)));
      expect(often).toHaveLength(15);
      for (let time = 0; time < TIMES; time++) {
        for (const pair of often) {
          const name = await prepare("running");
          await race(name, pair);
          await settle(name, pair.join(" and "));
        }
      }
    },
    60_000 + 300 * TIMES * 15,
  );

  it("RE-14 any rounds of up to five", { timeout: 120_000 }, async () => {
    const rounds = fc.array(fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 5 }), {
      minLength: 1,
      maxLength: 6,
    });
    const told = async (before: Before, verbs: string[][]) => {
      const name = await prepare(before);
      for (const round of verbs) await race(name, round);
      await settle(name, JSON.stringify(verbs));
    };
    await fc.assert(fc.asyncProperty(fc.constantFrom(...BEFORE), rounds, told), { numRuns: 100 });
  });

  it("RE-14 leaves no box, books that sum to zero, a whole log, and only lives that can be", async () => {
    expect(await plain.list({ installationId: "any" })).toEqual([]);
    auditBooks(path);
    expect(await core.getBudget(principal)).toMatchObject({ heldMicroUsd: 0 });
    const events = [];
    for (let seq = 0; ; seq += 1_000) {
      const page = await store.listEvents(principal.orgId, seq, 1_000);
      events.push(...page);
      if (page.length < 1_000) break;
    }
    expect(firstBrokenSeq(events)).toBe(undefined);
    const lives = new Map<string, SandboxState>();
    for (const { type, sandboxId, data } of events) {
      const to = STATES[type];
      if (!to || !sandboxId) continue;
      const from = lives.get(sandboxId) ?? "requested";
      // What sleeps in memory can be stopped, and then only its files are left.
      const deeper = from === "paused" && to === "paused" && data.depth === "disk";
      expect(deeper || canMove(from, to), `${sandboxId}: ${from} to ${to}`).toBe(true);
      lives.set(sandboxId, to);
    }
    expect(lives.size, "control: there were many").toBeGreaterThan(200);
    expect([...lives.values()].every(isOver)).toBe(true);
  });
});

const STATES: Readonly<Record<string, SandboxState>> = {
  "sandbox.requested": "provisioning",
  "sandbox.created": "running",
  "sandbox.failed": "failed",
  "sandbox.paused": "paused",
  "sandbox.resumed": "running",
  "sandbox.destroying": "destroying",
  "sandbox.destroyed": "destroyed",
  "sandbox.expired": "expired",
  "sandbox.lost": "lost",
};
