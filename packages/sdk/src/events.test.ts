import { collect, type Process, SandboxerError } from "@sandboxer/contract";
import { describe, expect, it } from "vitest";
import { readEvents, readStarted } from "./events.ts";
import { LineReader } from "./lines.ts";

const encoder = new TextEncoder();
const ANSWER = [
  { type: "started", process: "grüße", pid: 7 },
  { type: "stdout", offset: 0, data: btoa("one\n") },
  { type: "stderr", offset: 0, data: btoa("two") },
  { type: "stdout", offset: 4, data: btoa("\0\xff") },
  { type: "exit", exit: { kind: "exited", code: 3 } },
];

function bodyOf(...parts: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

const text = (lines: unknown[]) => encoder.encode(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));

async function read(body: ReadableStream<Uint8Array>) {
  const lines = new LineReader(body);
  const started = await readStarted(lines);
  const result = await collect({ events: readEvents(lines) } as Process);
  return { started, ...result };
}

describe("the answer of exec", () => {
  const whole = text(ANSWER);
  const expected = {
    started: { type: "started", process: "grüße", pid: 7 },
    stdout: Uint8Array.from([...encoder.encode("one\n"), 0, 255]),
    stderr: encoder.encode("two"),
    exit: { kind: "exited", code: 3 },
    truncated: false,
  };
  const plain = (value: Awaited<ReturnType<typeof read>>) => ({
    ...value,
    stdout: Uint8Array.from(value.stdout),
    stderr: Uint8Array.from(value.stderr),
  });

  it("reads the same wherever it is cut", async () => {
    for (let at = 0; at <= whole.length; at++) {
      expect(plain(await read(bodyOf(whole.slice(0, at), whole.slice(at))))).toEqual(expected);
    }
  });

  it("reads the same byte by byte", async () => {
    expect(plain(await read(bodyOf(...Array.from(whole, (byte) => Uint8Array.of(byte)))))).toEqual(expected);
  });

  it.each([
    ["an end before the exit", ANSWER.slice(0, 3), "extension_unavailable"],
    ["an error that came late", [ANSWER[0], failure("sandbox_gone")], "sandbox_gone"],
    ["another beginning", ANSWER.slice(1), "extension_failed"],
    ["a line nobody knows", [ANSWER[0], { type: "stdout", offset: -0.5, data: 1 }], "extension_failed"],
  ])("throws at %s", async (_, lines, code) => {
    const error = await read(bodyOf(text(lines))).catch((thrown) => thrown);
    expect(SandboxerError.is(error) && error.code).toBe(code);
  });

  it("refuses a line without an end", async () => {
    const parts = Array.from({ length: 5 }, () => new Uint8Array(1 << 20).fill(97));
    await expect(read(bodyOf(...parts))).rejects.toMatchObject({ code: "extension_failed" });
  });

  it("lets go of the body when the reader leaves, even while it waits", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(text(ANSWER.slice(0, 1))),
      cancel: () => {
        cancelled = true;
      },
    });
    const lines = new LineReader(body);
    await readStarted(lines);
    const iterator = readEvents(lines)[Symbol.asyncIterator]();
    const waiting = iterator.next();
    await iterator.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(cancelled).toBe(true);
  });
});

function failure(code: string) {
  return { type: "error", error: { code, message: "over", hint: "start anew", details: {} } };
}
