import type { NetworkCall } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import type { Journal } from "./journal.ts";
import { createReaching } from "./reaching.ts";

const { openGateway } = openers(onTestFinished);

const CALL: NetworkCall = {
  seq: 1,
  atMs: 1,
  host: "api.test",
  port: 443,
  via: "name",
  verdict: "allowed",
  rule: "#1",
};

async function open(journal?: (own: Pick<Journal, "record">) => Partial<Journal>) {
  const { core, store, principal } = await openGateway();
  const { id } = await core.create(principal, {});
  const own = { record: (event: never) => store.appendEvents([event]) };
  const reaching = createReaching({
    store,
    clock: { nowMs: Date.now, monotonicMs: () => performance.now() },
    journal: { ...own, ...journal?.(own) },
    report: () => {},
  });
  onTestFinished(() => reaching.close());
  const written = async () => (await store.listReached(principal.orgId, id)).map(({ data }) => data);
  return { core, principal, id, reaching, written };
}

it("writes a new place soon and by itself, and counts what repeats until it is asked for", async () => {
  const { core, principal, id, reaching, written } = await open();
  reaching.heard(id, CALL, true);
  await expect.poll(written, { timeout: 30_000 }).toHaveLength(1);
  for (let at = 0; at < 50; at++) reaching.heard(id, { ...CALL, seq: at + 2 }, true);
  reaching.heard(id, { ...CALL, upBytes: 10, downBytes: 20 }, false);
  reaching.heard(id, { ...CALL, host: "evil.test", verdict: "denied", rule: undefined }, true);
  expect(await reaching.tell(id)).toBe(true);
  expect(await reaching.tell(id), "nothing is written twice").toBe(false);
  const { reached } = await core.receipt(principal, id);
  expect(reached).toEqual({
    places: [
      { host: "api.test", port: 443, verdict: "allowed", rule: "#1", times: 51, upBytes: 10, downBytes: 20 },
      { host: "evil.test", port: 443, verdict: "denied", times: 1, upBytes: 0, downBytes: 0 },
    ],
    others: 0,
  });
});

it("fills no log for a sandbox that tries every name there is, and still counts", async () => {
  const { core, principal, id, reaching } = await open();
  for (let at = 0; at < 1_000; at++) reaching.heard(id, { ...CALL, host: `h${at}.test` }, true);
  await reaching.tell(id);
  const { reached } = await core.receipt(principal, id);
  expect([reached.places.length, reached.others]).toEqual([256, 744]);
});

it("keeps its counts where the log cannot be written, for the next try", async () => {
  let isFull = true;
  const { core, principal, id, reaching } = await open(({ record }) => ({
    record: (event) => (isFull ? Promise.reject(new Error("full")) : record(event)),
  }));
  reaching.heard(id, CALL, true);
  expect(await reaching.tell(id)).toBe(false);
  isFull = false;
  reaching.heard(id, { ...CALL, seq: 2 }, true);
  expect(await reaching.tell(id)).toBe(true);
  expect((await core.receipt(principal, id)).reached.places).toMatchObject([{ host: "api.test", times: 2 }]);
});
