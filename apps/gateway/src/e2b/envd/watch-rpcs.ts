import { randomUUID } from "node:crypto";
import { SandboxerError } from "@sandboxer/contract";
import { z } from "zod";
import { within } from "../../rest/silence.ts";
import { whenOver } from "../../when-over.ts";
import { silenceMs } from "./keepalive.ts";
import { type Rpc, streaming, unary } from "./rpc.ts";
import type { Visit } from "./visit.ts";
import { openWatch, type Watching, watchRequest } from "./watch.ts";

const MOST_EVENTS = 10_000;
const MOST_WATCHERS = 64;

/** Somebody who comes to ask instead of listening. */
interface Watcher {
  readonly watching: Watching;
  readonly events: object[];
}

/** By key and sandbox: nobody else can name one. */
const watchers = new WeakMap<object, Map<string, Watcher>>();

function watchersOf({ desk }: Visit): Map<string, Watcher> {
  const known = watchers.get(desk) ?? new Map<string, Watcher>();
  watchers.set(desk, known);
  return known;
}

const nameOf = ({ principal, sandbox }: Visit, id: string) => `${principal.keyId} ${sandbox.id} ${id}`;

async function gather(watcher: Watcher, done: () => void): Promise<void> {
  try {
    for await (const event of watcher.watching.events) {
      watcher.events.push(event);
      if (watcher.events.length > MOST_EVENTS) watcher.events.shift();
    }
  } catch {
    // The sandbox ended, and with it what was watched.
  } finally {
    done();
  }
}

function find(visit: Visit, id: string): Watcher {
  const watcher = watchersOf(visit).get(nameOf(visit, id));
  if (watcher) return watcher;
  throw new SandboxerError("not_found", `watcher with id ${id} not found`);
}

function refuseMore(visit: Visit): void {
  const mine = [...watchersOf(visit).keys()].filter((name) => name.startsWith(nameOf(visit, "")));
  if (mine.length < MOST_WATCHERS) return;
  throw new SandboxerError("rate_limited", `at most ${MOST_WATCHERS} watchers at once`);
}

const watcherRequest = z.object({ watcherId: z.string().max(64) });

export const watchRpcs: Readonly<Record<string, Rpc>> = {
  "/filesystem.Filesystem/WatchDir": streaming(watchRequest, async (visit, asked, open) => {
    const watching = await openWatch(visit, asked);
    whenOver(visit.outgoing, () => watching.close());
    const frames = open();
    await frames.send({ start: {} });
    const iterator = watching.events[Symbol.asyncIterator]();
    let waiting: ReturnType<typeof iterator.next> | undefined;
    while (!visit.outgoing.destroyed) {
      // Asked for only when it is waited for: a failure that nobody hears would end the gateway.
      waiting ??= iterator.next();
      const came = await within(silenceMs(visit), waiting);
      if (came?.done) return;
      if (came) waiting = undefined;
      await frames.send(came ? { filesystem: came.value } : { keepalive: {} });
    }
  }),
  "/filesystem.Filesystem/CreateWatcher": unary(watchRequest, async (visit, asked) => {
    const known = watchersOf(visit);
    refuseMore(visit);
    const watching = await openWatch(visit, asked);
    try {
      // Others may have been opened meanwhile.
      refuseMore(visit);
    } catch (error) {
      watching.close();
      throw error;
    }
    const watcher: Watcher = { watching, events: [] };
    const watcherId = randomUUID();
    known.set(nameOf(visit, watcherId), watcher);
    void gather(watcher, () => known.delete(nameOf(visit, watcherId)));
    return { watcherId };
  }),
  "/filesystem.Filesystem/GetWatcherEvents": unary(watcherRequest, async (visit, { watcherId }) => ({
    events: find(visit, watcherId).events.splice(0),
  })),
  "/filesystem.Filesystem/RemoveWatcher": unary(watcherRequest, async (visit, { watcherId }) => {
    find(visit, watcherId).watching.close();
    watchersOf(visit).delete(nameOf(visit, watcherId));
    return {};
  }),
};
