import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Answered, Asked } from "./exchange.ts";
import { listen, type Server } from "./serve.ts";

let server: Server;
let pulled = 0;
let cancelled = Promise.withResolvers<void>();

/** Stands in for the app: what is looked at here is the way between the socket and the app. */
async function answer(asked: Asked): Promise<Answered> {
  const ok = { status: 200, headers: {} };
  switch (new URL(asked.url).pathname) {
    case "/echo":
      return {
        status: 200,
        headers: { "x-host": asked.headers.get("host") ?? "" },
        ...(asked.body && { body: asked.body }),
      };
    case "/endless":
      return {
        ...ok,
        body: new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(65_536).fill(++pulled)),
          cancel: () => cancelled.resolve(),
        }),
      };
    case "/refuse": {
      // Looks at some of the body, or at nothing of it.
      if (asked.headers.has("x-look")) for await (const _ of asked.body ?? []) break;
      if (asked.headers.has("x-drop")) await asked.body?.getReader().read();
      return { status: 403, headers: {}, body: "no" };
    }
    case "/broken":
      return {
        ...ok,
        body: new ReadableStream({
          start: (controller) => controller.enqueue(new Uint8Array(10)),
          pull: () => Promise.reject(new Error("secret detail")),
        }),
      };
    default:
      throw new Error("secret detail");
  }
}

beforeAll(async () => {
  server = await listen({ app: answer }, { host: "127.0.0.1", port: 0 });
});
afterAll(() => server.close());

describe("the server", () => {
  it("streams both ways at once", async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    void writer.write(new TextEncoder().encode("one"));
    const init = { method: "POST", body: readable, duplex: "half" };
    const response = await fetch(`${server.url}/echo`, init as RequestInit);
    const reader = response.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("one");
    await writer.close();
    expect((await reader?.read())?.done).toBe(true);
  });

  it.each<Record<string, string>>([{}, { "x-look": "1" }, { "x-drop": "1" }])(
    "answers after a body that was not wanted: %j",
    async (headers) => {
      const body = new Uint8Array(1 << 20);
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (let round = 0; round < 3; round++) {
        const asked = request(`${server.url}/refuse`, { method: "PUT", headers, agent }).end(body);
        const [answer] = await once(asked, "response", { signal: AbortSignal.timeout(20_000) });
        expect(String(await buffer(answer))).toBe("no");
      }
      agent.destroy();
    },
  );

  it("reads a body no faster than it is taken, and lets go when the client leaves", async () => {
    pulled = 0;
    cancelled = Promise.withResolvers();
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.pause().write("GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let before = -1;
    const hasStopped = () => {
      const stopped = pulled > 0 && pulled === before;
      before = pulled;
      return stopped;
    };
    await expect.poll(hasStopped, { interval: 200 }).toBe(true);
    expect(pulled * 65_536).toBeLessThan(64 << 20);
    socket.destroy();
    await cancelled.promise;
  });

  it("cuts the connection where an answer breaks off, and tells nothing", async () => {
    const whole = fetch(`${server.url}/broken`).then((response) => response.arrayBuffer());
    await expect(whole).rejects.toThrow();
    await expect(fetch(`${server.url}/throws`)).rejects.toThrow();
  });

  it.each([
    "GET http://evil.test/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\n",
    "nonsense\r\n\r\n",
  ])("answers 400 to %j", async (text) => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write(text);
    const [head] = await once(socket, "data", { signal: AbortSignal.timeout(60_000) });
    expect(String(head)).toMatch(/^HTTP\/1\.1 400 /);
    socket.destroy();
  });

  it("listens beyond loopback only with TLS, or when told that it may", async () => {
    await expect(listen({ app: answer }, { host: "0.0.0.0", port: 0 })).rejects.toMatchObject({
      code: "invalid_request",
      hint: expect.stringContaining("--tls-cert"),
    });
    const open = await listen({ app: answer }, { host: "127.0.0.2", port: 0, insecure: true });
    expect(open.url).toContain("127.0.0.2");
    await open.close();
    const tls = { cert: "/nonexistent", key: "/nonexistent" };
    await expect(listen({ app: answer }, { host: "127.0.0.1", port: 0, tls })).rejects.toMatchObject({
      code: "invalid_request",
    });
  });
});
