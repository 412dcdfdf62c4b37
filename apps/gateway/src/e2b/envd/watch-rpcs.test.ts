import { EventEmitter } from "node:events";
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Visit } from "./visit.ts";
import { watchRpcs } from "./watch-rpcs.ts";

const FAILURE = new Error("the sandbox is over");

/** The run itself reports a failure that nobody hears, which would end the gateway. */
it("asks for no more changes when its client has left, since nobody would hear of their end", async () => {
  let asked = 0;
  async function* changes() {
    asked += 1;
    yield { type: "removed", path: "/w/one", moved: false };
    asked += 1;
    throw FAILURE;
  }
  const files = {
    stat: async () => ({ type: "directory", path: "/w" }),
    read: () => Promise.reject(FAILURE),
    watch: async () => ({ changes: changes(), close: () => {} }),
  };
  const outgoing = Object.assign(new EventEmitter(), { destroyed: false, closed: false });
  const visit = {
    ground: { core: { files: async () => files } },
    principal: {},
    sandbox: { id: "a" },
    incoming: { headers: {} },
    outgoing,
  } as unknown as Visit;
  const sent: object[] = [];
  // It leaves while it is waited for to take the change.
  const send = async (frame: object) => {
    sent.push(frame);
    if (sent.length > 1) outgoing.destroyed = true;
  };
  const rpc = watchRpcs["/filesystem.Filesystem/WatchDir"];
  if (rpc?.kind !== "stream") throw new Error("it is a stream");
  const request = { path: "/w", recursive: false, includeEntry: false, allowNetworkMounts: false };
  await rpc.handle(visit, request as never, () => ({ send, end: () => {} }));
  await setImmediate();
  expect(sent).toEqual([{ start: {} }, { filesystem: { name: "one", type: "EVENT_TYPE_REMOVE" } }]);
  expect(asked).toBe(1);
});
