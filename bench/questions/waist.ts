import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { CONTRACT_VERSION, newRowId, type Principal, type SandboxSpec } from "@sandboxer/contract";
import { type Core, createCore, createRootKey, openSqliteStore, type Store } from "@sandboxer/core";
import { authorize, authorizeCreate } from "../../packages/core/src/policy/authorize.ts";
import { type Offer, route } from "../../packages/core/src/route/route.ts";
import { beginCreateOf, settleOf } from "../../packages/core/test/rows.ts";
import { concurrently } from "../concurrently.ts";
import { createInstantExtension } from "../ours/instant-extension.ts";
import type { Question } from "../question.ts";
import type { Session } from "../session.ts";
import { type Statistics, statistics } from "../statistics.ts";

const IDLE_SECONDS = 10;
const SETTLE_MS = 3_000;
const ROUNDS = 5;
const AT_ONCE = 16;
const SPEC: SandboxSpec = {
  schema: 1,
  image: { kind: "host" },
  isolation: "process",
  persistence: "ephemeral",
  network: { egress: "deny" },
  resources: {},
  limits: "best-effort",
  env: {},
  labels: {},
  ttlMs: 3_600_000,
};

/** What the waist itself costs: over a way out that takes no time. `--count` is how many idle sandboxes. */
export const question: Question = {
  size: 10_000,
  async ask(session, count) {
    const decisions = measureDecisions();
    const open = await openCore(session);
    const writes = await measureWrites(open, session);
    const idle = await measureIdle(open, count, session);
    const data = { ...decisions, ...writes, ...idle };
    return {
      data,
      lines: [
        `route() over 40 offers: ${micro(decisions.route)} (goal ≤ 100 µs)`,
        `authorize over a chain of 8: ${micro(decisions.authorize)} (goal ≤ 20 µs); a whole request narrowed: ${micro(decisions.narrow)}`,
        `a single commit, until it is on the disk: ${milli(writes.commit)}`,
        `row, ledger and events of a create: ${milli(writes.booking)}, ${AT_ONCE} at once: ${milli(writes.bookingShared)}; beyond a single commit ${writes.addsMs.toFixed(2)} ms (goal ≤ 1 ms)`,
        `a whole create over a way out that takes no time: ${milli(writes.create)}`,
        `${count} idle sandboxes: ${idle.idleCpuPercent.toFixed(2)} % of a processor over ${IDLE_SECONDS} s, ${idle.roundCpuMs.toFixed(0)} ms for a round of reconciling (${idle.firstRoundCpuMs.toFixed(0)} ms for the first), in all ${idle.cpuPercent.toFixed(2)} % (goal < 1 %)`,
        `a page of 200 of them: ${milli(idle.page)}, for a derived key that sees the last: ${milli(idle.narrowPage)} (goal < 50 ms)`,
      ],
    };
  },
};

const micro = ({ medianMs, p95Ms }: Statistics) =>
  `${(medianMs * 1e3).toFixed(1)} / ${(p95Ms * 1e3).toFixed(1)} µs`;
const milli = ({ medianMs, p95Ms }: Statistics) => `${medianMs.toFixed(2)} / ${p95Ms.toFixed(2)} ms`;

function timed(rounds: number, work: () => unknown): Statistics {
  for (let warm = 0; warm < rounds; warm++) work();
  const samples: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const begun = performance.now();
    work();
    samples.push(performance.now() - begun);
  }
  return statistics(samples);
}

async function timedAsync(rounds: number, work: () => Promise<unknown>, warmUps = 20): Promise<Statistics> {
  for (let warm = 0; warm < warmUps; warm++) await work();
  const samples: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const begun = performance.now();
    await work();
    samples.push(performance.now() - begun);
  }
  return statistics(samples);
}

function measureDecisions() {
  const offers = Array.from(
    { length: 40 },
    (_, at): Offer => ({
      manifest: {
        schema: 1,
        contract: CONTRACT_VERSION,
        id: `ext-${at}`,
        title: "one of many",
        hosting: at % 2 ? "self" : "vendor",
        isolation: { class: at % 3 ? "container" : "microvm", technology: "some" },
        images: ["host", "oci"],
        facets: [],
        persistence: ["ephemeral"],
        egress: at % 5 ? "enforced" : "advisory",
        credentials: "none",
        regions: [],
        limits: at % 7 ? {} : { maximumTtlMs: 1_000 },
        price: { basis: "provisioned", microUsdPerHour: (at * 7_919) % 100_000 },
      },
      probe: { status: "offer", findings: [] },
    }),
  );
  const chain = Array.from({ length: 8 }, (_, at) => ({
    operations: ["sandbox.create", "sandbox.exec", "sandbox.read"] as const,
    extensions: offers.map(({ manifest }) => manifest.id).slice(0, 20 - at),
    minimumIsolation: "container" as const,
    maximumTtlMs: 7_200_000 - at,
  })).map((link) => ({ ...link, operations: [...link.operations] }));
  return {
    route: timed(20_000, () => route(SPEC, offers, { policy: "lowest-cost" })),
    authorize: timed(20_000, () => authorize(chain, "sandbox.read")),
    narrow: timed(5_000, () => authorizeCreate(chain, { ttlMs: 60_000, env: { A: "1" } })),
  };
}

interface Open {
  readonly store: Store;
  readonly core: Core;
  readonly principal: Principal;
  fill(count: number): Promise<void>;
}

async function openCore(session: Session): Promise<Open> {
  const { scratch } = session.placeOf("waist");
  const store = openSqliteStore(join(scratch, "state.db"));
  const { principal } = await createRootKey(store);
  const installationId = await store.claimMeta("installation-id", "none");
  const extension = createInstantExtension(() => installationId);
  const core = await createCore({ store, extensions: [extension] });
  session.keep({
    async close() {
      await core.close();
      await store.close();
    },
  });
  const fill = (count: number) =>
    concurrently(count, AT_ONCE * 4, session.signal, async () => {
      await core.create(principal, { ttlMs: 86_400_000 });
    }).then(() => {});
  return { store, core, principal, fill };
}

/** A backend takes at least this long, and a sync that was begun before it is over by then. */
const BACKEND_MS = 5;

/** Both commits of a create: its row, its money and its events, until they are on the disk. */
async function book(store: Store, orgId: string): Promise<number> {
  const begin = beginCreateOf({ orgId });
  const begun = performance.now();
  await store.beginCreate(begin);
  const held = performance.now();
  await setTimeout(BACKEND_MS);
  const made = performance.now();
  await store.settleCreate(settleOf(begin.sandbox.id));
  return performance.now() - made + (held - begun);
}

async function measureWrites({ core, principal }: Open, session: Session) {
  const store = openSqliteStore(join(session.placeOf("books").scratch, "state.db"));
  session.keep(store);
  const { orgId, id: principalId } = principal;
  const commit = await timedAsync(300, () => store.insertKey(keyOf(orgId, principalId)));
  const create = await timedAsync(300, () => core.create(principal, { ttlMs: 86_400_000 }));
  const alone: number[] = [];
  const shared: number[] = [];
  for (let round = -20; round < 200; round++) {
    session.signal.throwIfAborted();
    const took = await book(store, orgId);
    const many = await Promise.all(Array.from({ length: AT_ONCE }, () => book(store, orgId)));
    if (round < 0) continue;
    alone.push(took);
    shared.push(...many);
  }
  const booking = statistics(alone);
  const addsMs = booking.medianMs - commit.medianMs;
  return { commit, create, booking, addsMs, bookingShared: statistics(shared) };
}

/** One row and one sync: the least that a durable change can cost. */
const keyOf = (orgId: string, principalId: string) => {
  const id = newRowId("key");
  return {
    id,
    orgId,
    principal: { id: principalId, kind: "agent" as const },
    rights: {},
    hash: id,
    createdAtMs: 0,
  };
};

async function measureIdle(open: Open, count: number, session: Session) {
  const { core, principal } = open;
  await open.fill(count);
  const derived = await core.authenticate((await core.createKey(principal, {})).apiKey);
  const round = async () => {
    const before = process.cpuUsage();
    await core.start();
    return cpuMs(process.cpuUsage(before));
  };
  // The first reads every row; it also leaves the garbage of a start behind, which is not idling.
  const firstRoundCpuMs = await round();
  await setTimeout(SETTLE_MS, undefined, { signal: session.signal });
  session.show(`idle for ${IDLE_SECONDS} s`);
  const before = process.cpuUsage();
  await setTimeout(IDLE_SECONDS * 1_000, undefined, { signal: session.signal });
  const idleCpuPercent = cpuMs(process.cpuUsage(before)) / IDLE_SECONDS / 10;
  const rounds: number[] = [];
  for (let made = 0; made < ROUNDS; made++) rounds.push(await round());
  const { medianMs: roundCpuMs } = statistics(rounds);
  const page = await timedAsync(100, () => core.list(principal, { limit: 200 }));
  const narrowPage = await timedAsync(30, () => core.list(derived, { limit: 200 }));
  // A round is made every minute.
  return {
    idleCpuPercent,
    firstRoundCpuMs,
    roundCpuMs,
    cpuPercent: idleCpuPercent + roundCpuMs / 600,
    page,
    narrowPage,
  };
}

const cpuMs = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1_000;
