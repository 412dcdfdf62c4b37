import { type Audit, type Event, type Principal, SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { authorize } from "../policy/authorize.ts";
import { viewerOf } from "../reach.ts";
import type { Viewer } from "../store/store.ts";
import { firstBrokenSeq, GENESIS_HASH } from "./chain.ts";

const LOOK_EVERY_MS = 250;
const PAGE = 200;

export interface EventQuery {
  /** Only what came after this `seq`. */
  readonly after?: number;
  readonly limit?: number;
}

/** The root key sees the org's whole log; a derived one its own part and that of sandboxes it sees. */
function eyesOf(principal: Principal): Viewer | undefined {
  return principal.chain.length === 1 ? undefined : viewerOf(principal);
}

export async function listEvents(
  house: House,
  principal: Principal,
  query: EventQuery = {},
): Promise<Event[]> {
  authorize(principal.chain, "event.read");
  const { after = 0, limit = PAGE } = query;
  await house.journal.flush();
  return house.store.listEvents(principal.orgId, after, Math.min(limit, 1_000), eyesOf(principal));
}

/** In order, from where the reader left off, for as long as it reads and its key lasts. */
export async function followEvents(
  house: House,
  principal: Principal,
  { after = 0 }: EventQuery = {},
): Promise<AsyncIterable<Event>> {
  authorize(principal.chain, "event.read");
  return tail(house, principal, after);
}

async function* tail(house: House, principal: Principal, after: number): AsyncGenerator<Event> {
  let over: SandboxerError | undefined;
  let wake = () => {};
  const release = house.leases.open(principal.keyId, (error) => {
    over = error;
    wake();
  });
  try {
    for (let seq = after; ; ) {
      if (over) throw over;
      const page = await house.store.listEvents(principal.orgId, seq, PAGE, eyesOf(principal));
      for (const event of page) {
        yield event;
        if (over) throw over;
        seq = event.seq;
      }
      if (page.length === PAGE) continue;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, LOOK_EVERY_MS).unref();
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  } finally {
    release();
  }
}

/** Walks the org's whole chain and says whether it is as it was written. */
export async function verifyAudit(house: House, principal: Principal): Promise<Audit> {
  authorize(principal.chain, "event.read");
  if (principal.chain.length > 1) {
    throw new SandboxerError("policy_denied", "only the root key sees the whole log", {
      details: { rule: "root" },
    });
  }
  await house.journal.flush();
  let last = { seq: 0, hash: GENESIS_HASH };
  for (;;) {
    const page = await house.store.listEvents(principal.orgId, last.seq, 1_000);
    const brokenSeq = firstBrokenSeq(page, last);
    if (brokenSeq !== undefined) {
      const sound = page.slice(
        0,
        page.findIndex(({ seq }) => seq === brokenSeq),
      );
      last = sound.at(-1) ?? last;
      return { events: last.seq, headHash: last.hash, brokenSeq };
    }
    last = page.at(-1) ?? last;
    if (page.length === 0) return { events: last.seq, headHash: last.hash };
  }
}
