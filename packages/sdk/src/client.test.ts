import { SandboxerError } from "@sandboxer/contract";
import { describe, expect, it } from "vitest";
import { createClient } from "./client.ts";
import type { Fetch } from "./transport.ts";

function clientOf(answer: Fetch) {
  return createClient({ url: "http://gateway.test/", apiKey: "key", fetch: answer });
}

const info = (id: string) => ({
  id,
  orgId: "org",
  principalId: "prn",
  consumer: { kind: "person" },
  visibility: "private",
  state: "running",
  spec: {
    schema: 1,
    image: { kind: "host" },
    isolation: "process",
    persistence: "ephemeral",
    network: { egress: "deny" },
    resources: {},
    limits: "best-effort",
    env: {},
    labels: {},
    ttlMs: 60_000,
  },
  bestEffort: [],
  createdAtMs: 1,
  costMicroUsd: 0,
});

describe("the client", () => {
  it("rebuilds the gateway's error", async () => {
    const error = {
      code: "conflict",
      message: "taken",
      hint: "choose",
      details: { name: "a" },
      requestId: "req_1",
    };
    const client = clientOf(async () => Response.json({ error }, { status: 409 }));
    const thrown = await client.sandboxes.create().catch((caught) => caught);
    expect(SandboxerError.is(thrown)).toBe(true);
    expect(thrown).toMatchObject(error);
  });

  it.each([
    ["nobody answers", () => Promise.reject(new TypeError("fetch failed")), "extension_unavailable"],
    ["something else answers", async () => new Response("<html>", { status: 502 }), "extension_failed"],
    ["the answer has another form", async () => Response.json({ id: 5 }), "extension_failed"],
  ])("says so when %s", async (_, answer, code) => {
    await expect(clientOf(answer).sandboxes.get("x")).rejects.toMatchObject({ code });
  });

  it.each([
    ["a string", "caf\u00e9"],
    ["bytes", new TextEncoder().encode("caf\u00e9")],
    ["a stream", new Blob(["caf\u00e9"]).stream()],
    ["parts", ["ca", "f\u00e9"] as unknown as Iterable<Uint8Array>],
  ])("writes a file from %s", async (_, content) => {
    const client = clientOf(async (url, init) =>
      url.includes("/files/content")
        ? Response.json({ bytes: (init.body as Uint8Array).length })
        : Response.json(info("a".repeat(20))),
    );
    expect(await (await client.sandboxes.get("a")).files.write("x", content)).toBe(5);
  });

  it("calls a mistake of the caller's one, and shows no key", async () => {
    const client = clientOf(async () => Response.json(info("a".repeat(20))));
    const { files } = await client.sandboxes.get("a");
    for (const wrong of [7, undefined, [1, 2], {}]) {
      await expect(files.write("x", wrong as unknown as string)).rejects.toMatchObject({
        code: "invalid_request",
      });
    }
    for (const url of ["", "127.0.0.1:7070", "file:///x"]) {
      expect(() => createClient({ url, apiKey: "key" })).toThrow("is not the address of a gateway");
    }
    const thrown = (() => {
      try {
        return createClient({ url: "http://gateway.test", apiKey: "sbx_one\ntwo" });
      } catch (error) {
        return error as SandboxerError;
      }
    })();
    expect(thrown).toMatchObject({ code: "invalid_request" });
    expect(`${thrown}`).not.toContain("sbx_one");
  });

  describe("that is told to give up", () => {
    /** A command that says nothing and never ends, unless it is told to. */
    function endless(starting = Promise.resolve()) {
      const asked: string[] = [];
      const client = clientOf(async (url, { method, body }) => {
        const path = new URL(url).pathname;
        asked.push(`${method} ${path}${path.endsWith("/signal") ? body : ""}`);
        if (path.endsWith("/signal")) return Response.json({});
        if (!path.endsWith("/exec")) return Response.json(info("a".repeat(20)));
        await starting;
        const started = new TextEncoder().encode('{"type":"started","process":"p1"}\n');
        return new Response(new ReadableStream({ start: (lines) => lines.enqueue(started) }));
      });
      return { asked, sandbox: client.sandboxes.get("a") };
    }
    const killed = expect.stringMatching(/p1\/signal.*KILL/);

    it("ends the command and says why", async () => {
      const { asked, sandbox } = endless();
      const stop = new AbortController();
      const running = (await sandbox).run(["sleep", "inf"] as const, { signal: stop.signal });
      await expect.poll(() => asked.length).toBe(2);
      stop.abort(new Error("enough"));
      await expect(running).rejects.toThrow("enough");
      await expect.poll(() => asked).toContainEqual(killed);
    });

    it("does not wait for one that has not started, and ends it when it has", async () => {
      const { promise: starting, resolve: start } = Promise.withResolvers<void>();
      const { asked, sandbox } = endless(starting);
      const stop = new AbortController();
      const running = (await sandbox).run(["sleep", "inf"], { signal: stop.signal });
      stop.abort(new Error("enough"));
      await expect(running).rejects.toThrow("enough");
      expect(asked).not.toContainEqual(killed);
      start();
      await expect.poll(() => asked).toContainEqual(killed);
    });

    it("starts nothing when told so before", async () => {
      const { asked, sandbox } = endless();
      const running = (await sandbox).run(["true"], { signal: AbortSignal.abort(new Error("before")) });
      await expect(running).rejects.toThrow("before");
      expect(asked.filter((one) => one.endsWith("/exec"))).toEqual([]);
    });

    it("leaves the log between two events", async () => {
      const cancelled = Promise.withResolvers<void>();
      const client = clientOf(
        async () => new Response(new ReadableStream({ cancel: () => cancelled.resolve() })),
      );
      const stop = new AbortController();
      const next = client.events.follow({ signal: stop.signal })[Symbol.asyncIterator]().next();
      stop.abort(new Error("enough"));
      await expect(next).rejects.toThrow("enough");
      await cancelled.promise;
    });
  });

  it("walks every page", async () => {
    const asked: string[] = [];
    const client = clientOf(async (url) => {
      asked.push(url);
      const after = new URL(url).searchParams.get("after");
      const sandboxes = [info((after ? "b" : "a").repeat(20))];
      return Response.json(after ? { sandboxes } : { sandboxes, next: "a".repeat(20) });
    });
    const ids: string[] = [];
    for await (const sandbox of client.sandboxes.all({ states: ["running", "paused"], limit: 1 }))
      ids.push(sandbox.id);
    expect(ids).toEqual(["a".repeat(20), "b".repeat(20)]);
    expect(asked[0]).toBe("http://gateway.test/v1/sandboxes?limit=1&state=running%2Cpaused");
  });

  it("keeps input in order and sends together what gathers", async () => {
    const got: string[] = [];
    const started = '{"type":"started","process":"p1"}\n';
    const client = clientOf(async (url, init) => {
      if (url.endsWith("/exec")) return new Response(started);
      if (!url.includes("/stdin")) return Response.json(info("a".repeat(20)));
      got.push(`${new TextDecoder().decode(init.body as Uint8Array)}${url.includes("end=1") ? "|" : ""}`);
      return Response.json({});
    });
    const process = await (await client.sandboxes.get("a")).exec({ argv: ["cat"], stdin: true });
    const encoder = new TextEncoder();
    await Promise.all(
      [..."abc"].map((letter) => process.writeStdin(encoder.encode(letter))).concat(process.closeStdin()),
    );
    expect(got).toEqual(["a", "bc|"]);
  });
});
