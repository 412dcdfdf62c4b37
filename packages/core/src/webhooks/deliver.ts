import { type Event, SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import type { DueWebhook } from "../store/webhook-store.ts";
import { post } from "./network.ts";
import { cloudEvent, signedHeaders } from "./sign.ts";
import { purposeOf } from "./webhooks.ts";

const LOOK_EVERY_MS = 500;
const PAGE = 50;
const GONE = 410;

/**
 * In order and at least once: the next event waits for the one before, and a receiver that sees an
 * id again has had it already.
 */
export function keepDelivering(house: House): { stop(): Promise<void> } {
  const underWay = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let round = Promise.resolve();

  const look = async (): Promise<void> => {
    for (const due of await house.store.listDueWebhooks(house.clock.nowMs())) {
      if (underWay.has(due.id)) continue;
      const work = deliver(house, due, stopping.signal)
        .catch((error) => house.report(`delivering to ${due.id}`, SandboxerError.from(error)))
        .finally(() => underWay.delete(due.id));
      underWay.set(due.id, work);
    }
  };
  const schedule = () => {
    timer = setTimeout(() => {
      round = look()
        .catch((error) => house.report("looking for deliveries", SandboxerError.from(error)))
        .finally(() => stopping.signal.aborted || schedule());
    }, LOOK_EVERY_MS).unref();
  };
  schedule();
  return {
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await round;
      await Promise.all(underWay.values());
    },
  };
}

async function deliver(house: House, due: DueWebhook, signal: AbortSignal): Promise<void> {
  let { cursorSeq } = due;
  for (;;) {
    const page = await house.store.listEvents(due.orgId, cursorSeq, PAGE);
    for (const event of page) {
      if (signal.aborted) return;
      if (!due.types || due.types.includes(event.type)) {
        const failure = await attempt(house, due, event, signal);
        if (failure && signal.aborted) return;
        if (failure) return recordFailure(house, due, cursorSeq, failure);
      }
      cursorSeq = event.seq;
      // Somebody else delivered meanwhile, or it is no more: they go on from there.
      if (!(await house.store.advanceWebhook(due.id, cursorSeq))) return;
    }
    if (page.length < PAGE) return;
  }
}

interface Failure {
  readonly error: string;
  readonly final: boolean;
}

async function attempt(
  house: House,
  { id, url, secret }: DueWebhook,
  event: Event,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const body = cloudEvent(event);
  try {
    const key = house.sealer.open(purposeOf(id), secret);
    const headers = signedHeaders(key, event.id, house.clock.nowMs(), body);
    const status = await post(house.webhookNetwork, new URL(url), headers, body, signal);
    if (status >= 200 && status < 300) return undefined;
    return { error: `it answered ${status}`, final: status === GONE };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error), final: false };
  }
}

async function recordFailure(
  house: House,
  { id: webhookId, attempts }: DueWebhook,
  cursorSeq: number,
  { error, final }: Failure,
): Promise<void> {
  const nowMs = house.clock.nowMs();
  const waitMs = final ? undefined : house.webhookNetwork.retriesMs[attempts];
  await house.store.failWebhook({
    webhookId,
    cursorSeq,
    error: error.slice(0, 300),
    atMs: nowMs,
    ...(waitMs !== undefined && { nextAttemptAtMs: nowMs + waitMs }),
  });
}
