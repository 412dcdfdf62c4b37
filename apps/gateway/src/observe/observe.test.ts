import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createLog } from "../log.ts";
import { createLimits } from "./limits.ts";
import { createMeters } from "./meters.ts";

describe("limits of a key", () => {
  it("let so many be under way, each key for itself", () => {
    const limits = createLimits({ concurrent: 2 });
    const first = limits.enter("a");
    limits.enter("a");
    expect(() => limits.enter("a")).toThrow(/at most 2/);
    limits.enter("b");
    first();
    first();
    limits.enter("a");
    expect(() => limits.enter("a"), "an end counts once").toThrow();
  });

  it("refill over time, and say how long to wait", () => {
    let nowMs = 0;
    const limits = createLimits({ concurrent: 100, requestsPerSecond: 5 }, () => nowMs);
    for (let at = 0; at < 10; at++) limits.enter("a")();
    expect(() => limits.enter("a")).toThrowError(
      expect.objectContaining({ code: "rate_limited", details: { retryAfterMs: 200 } }),
    );
    nowMs = 200;
    limits.enter("a")();
    expect(() => limits.enter("a")).toThrow();
    nowMs = 60_000;
    for (let at = 0; at < 10; at++) limits.enter("a")();
    expect(() => limits.enter("a")).toThrow();
  });
});

it("writes what Prometheus reads", () => {
  const meters = createMeters();
  const request = { method: "GET", route: '/a"b\n', status: 200 };
  meters.observe({ ...request, seconds: 0.002 });
  meters.observe({ ...request, seconds: 100 });
  const text = meters.write([{ name: "g", help: "G.", values: [[{ state: "running" }, 3]] }]);
  expect(text).toContain('sandboxer_requests_total{method="GET",route="/a\\"b\\n",status="200"} 2\n');
  expect(text).toContain('_bucket{method="GET",route="/a\\"b\\n",le="0.0025"} 1\n');
  expect(text).toContain('le="60"} 1\n');
  expect(text).toContain('le="+Inf"} 2\n');
  expect(text).toContain('# TYPE g gauge\ng{state="running"} 3\n');
});

describe("AZ-10 the log", () => {
  it.each(["json", "text"] as const)(
    "as %s holds no secret and nothing that a terminal obeys",
    async (format) => {
      const dir = mkdtempSync(join(tmpdir(), "sandboxer-log-"));
      const file = join(dir, "log");
      const log = createLog({ file, format });
      const key = `e2b_${"a1".repeat(32)}`;
      const hostile = "\x1b]52;c;aGk=\x07\u202e\u2066\x9b31m\x7f\nforged 200";
      log({ level: "error", event: "defect", error: `Bearer ${key} ${hostile}`, requestId: "req_1" });
      log({
        level: "info",
        event: "request",
        path: `/${hostile}`,
        secret: "whsec_AAAA",
        token: "eyJrZXkiOiJr.x-y",
      });
      await new Promise((resolve) => setImmediate(resolve));
      const text = readFileSync(file, "utf8");
      expect(text.trimEnd().split("\n")).toHaveLength(2);
      expect(text).toContain("req_1");
      for (const bad of [key, "AAAA", "eyJrZXkiOiJr"]) expect(text).not.toContain(bad);
      expect(text).not.toMatch(/[^\x20-\x7e\n]/);
      expect(text, "control: it is told all the same").toMatch(/\\u001b.*\\u202e\\u2066\\u009b31m\\u007f/);
      rmSync(dir, { recursive: true });
    },
  );
});
