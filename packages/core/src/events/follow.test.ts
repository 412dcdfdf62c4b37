import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Event } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { refusal } from "../../test/outcomes.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);

async function take(events: AsyncIterable<Event>, count: number): Promise<Event[]> {
  const taken: Event[] = [];
  for await (const event of events) if (taken.push(event) === count) break;
  return taken;
}

it("follows the log in order, and goes on from where a reader left off", async () => {
  const { core, principal } = await openGateway();
  const reading = take(await core.followEvents(principal), 4);
  const { id } = await core.create(principal, {});
  await core.destroy(principal, id);
  const read = await reading;
  expect(read.map(({ seq, type }) => [seq, type])).toEqual([
    [1, "sandbox.requested"],
    [2, "sandbox.created"],
    [3, "sandbox.destroying"],
    [4, "sandbox.destroyed"],
  ]);
  expect(await take(await core.followEvents(principal, { after: 2 }), 2)).toEqual(read.slice(2));
  expect(await core.listEvents(principal, { after: 1, limit: 1 })).toEqual([read[1]]);
});

it("shows a derived key its own and what it sees, and ends with the key", async () => {
  const { core, principal } = await openGateway();
  const make = async () => {
    const { apiKey, key } = await core.createKey(principal, {});
    return { key, principal: await core.authenticate(apiKey) };
  };
  const [one, two] = [await make(), await make()];
  const hidden = await core.create(one.principal, {});
  const open = await core.create(one.principal, { visibility: "org" });
  const seen = async (who: typeof principal) =>
    new Set((await core.listEvents(who)).map(({ sandboxId }) => sandboxId ?? "none"));
  expect(await seen(one.principal)).toEqual(new Set([hidden.id, open.id]));
  expect(await seen(two.principal)).toEqual(new Set([open.id]));
  expect(await seen(principal)).toEqual(new Set(["none", hidden.id, open.id]));
  const reading = take(await core.followEvents(two.principal), 100);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await Promise.all([refusal(reading, "unauthenticated"), core.revokeKey(principal, two.key.id)]);
  const blind = await core.authenticate((await core.createKey(principal, { operations: [] })).apiKey);
  await refusal(core.followEvents(blind), "policy_denied");
});

it("AZ-11 verifies the whole chain, and finds where it was touched", async () => {
  const path = join(temporaryFolder(), "store.db");
  const { core, principal } = await openGateway(undefined, openStore(path));
  for (let count = 0; count < 5; count++) await core.createKey(principal, {});
  const whole = await core.verifyAudit(principal);
  expect(whole).toEqual({ events: 5, headHash: expect.stringMatching(/^[0-9a-f]{64}$/) });
  const child = await core.authenticate((await core.createKey(principal, { role: "admin" })).apiKey);
  await refusal(core.verifyAudit(child), "policy_denied");
  const intruder = new DatabaseSync(path);
  intruder.exec("DROP TRIGGER events_stay; UPDATE events SET data = '{}' WHERE seq = 3");
  intruder.close();
  expect(await core.verifyAudit(principal)).toMatchObject({ events: 2, brokenSeq: 3 });
});
