import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import type { NewEvent } from "../store/store.ts";
import { createJournal } from "./journal.ts";

const { openStore } = openers(onTestFinished);

const event: NewEvent = { type: "process.started", orgId: "org_one", atMs: 1, data: {} };

it("gathers what comes together into one commit, and keeps its order", async () => {
  const store = openStore();
  let commits = 0;
  const counting = {
    ...store,
    appendEvents(events: readonly NewEvent[]) {
      commits++;
      return store.appendEvents(events);
    },
  };
  const journal = createJournal(counting, () => {});
  for (let atMs = 1; atMs <= 40; atMs++) await journal.record({ ...event, atMs });
  await journal.flush();
  expect(commits).toBe(1);
  expect((await store.listEvents("org_one", 0, 100)).map(({ atMs }) => atMs)).toEqual(
    Array.from({ length: 40 }, (_, index) => index + 1),
  );
});

it("writes by itself after a moment", async () => {
  const store = openStore();
  const journal = createJournal(store, () => {});
  await journal.record(event);
  await expect.poll(() => store.listEvents("org_one", 0, 100)).toHaveLength(1);
});

it("refuses to go on when it cannot write, and loses nothing once it can", async () => {
  const store = openStore();
  let full = true;
  const troubles: string[] = [];
  const moody = {
    ...store,
    async appendEvents(events: readonly NewEvent[]) {
      if (full) throw new Error("disk full");
      return store.appendEvents(events);
    },
  };
  const journal = createJournal(moody, (what, { message }) => troubles.push(`${what}: ${message}`));
  await journal.record(event);
  await expect.poll(() => troubles).toEqual(["writing events: disk full"]);
  await expect(journal.record(event)).rejects.toThrow("disk full");
  full = false;
  await journal.record(event);
  await journal.flush();
  expect(await store.listEvents("org_one", 0, 100)).toHaveLength(2);
});
