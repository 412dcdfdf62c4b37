import { type Event, SandboxerError } from "@sandboxer/contract";
import { expect, it } from "vitest";
import { silent } from "../log.ts";
import { createReport } from "./failure.ts";
import { serverSent } from "./server-sent.ts";

const report = createReport(silent, "req_1");
const event = (seq: number) => ({ seq, type: "key.created", data: { text: "a\nb" } }) as unknown as Event;

async function read(events: AsyncIterable<Event>, heartbeatMs?: number): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const part of serverSent(events, report, heartbeatMs)) text += decoder.decode(part);
  return text;
}

it("gives each event its number and keeps it on one line", async () => {
  async function* two() {
    yield event(7);
    yield event(8);
  }
  const frames = (await read(two())).split("\n\n");
  expect(frames[1]).toBe(`id: 7\nevent: key.created\ndata: ${JSON.stringify(event(7))}`);
  expect(frames[2]).toMatch(/^id: 8\n/);
});

it("breaks the silence, and loses nothing by it", async () => {
  async function* late() {
    await new Promise((resolve) => setTimeout(resolve, 60));
    yield event(1);
  }
  const text = await read(late(), 10);
  expect(text.split(": still here").length).toBeGreaterThan(1);
  expect(text).toContain("id: 1\n");
});

it("says why it ends, and lets go of the log when the reader leaves", async () => {
  async function* refused(): AsyncGenerator<Event> {
    yield event(1);
    throw new SandboxerError("unauthenticated", "the key is over");
  }
  expect(await read(refused())).toContain('event: error\ndata: {"code":"unauthenticated"');
  let left = false;
  async function* endless() {
    try {
      for (let seq = 1; ; seq++) yield event(seq);
    } finally {
      left = true;
    }
  }
  const reader = serverSent(endless(), report).getReader();
  for (let count = 0; count < 3; count++) await reader.read();
  await reader.cancel();
  await expect.poll(() => left).toBe(true);
});

it("says nothing of a reader who left during a silence", async () => {
  const reported: unknown[] = [];
  const hear = (error: unknown) => {
    reported.push(error);
    return report(error);
  };
  let wake = (): void => {};
  async function* quiet(): AsyncGenerator<Event> {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
    throw new Error("nobody listens");
  }
  const reader = serverSent(quiet(), hear, 20).getReader();
  await reader.read();
  const next = reader.read();
  await reader.cancel();
  await next;
  await new Promise((resolve) => setTimeout(resolve, 60));
  wake();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(reported).toEqual([]);
});
