import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { EXEC_PROTOCOL, type ExecReply, KEY_PROTOCOL_PREFIX } from "@sandboxer/contract";
import { createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { requires } from "../capabilities/requires.ts";
import { openTenants, READING, type Tenants } from "./matrix/tenants.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

let tenants: Tenants;
let sandbox: Sandbox;

beforeAll(async () => {
  tenants = await openTenants({ listen: { host: "127.0.0.1", port: 0 } });
  sandbox = await tenants.owner.sandboxes.create({ ttlMs: 600_000 });
});
afterAll(() => tenants?.close());

const protocolOf = (key: string) => KEY_PROTOCOL_PREFIX + Buffer.from(key).toString("base64url");

function open(
  options: { key?: string; path?: string; headers?: Record<string, string>; protocols?: string[] } = {},
) {
  const { key = tenants.ownerKey, path = `/v1/sandboxes/${sandbox.id}/exec`, headers = {} } = options;
  const url = (tenants.gateway.url ?? "").replace("http", "ws") + path;
  return new WebSocket(url, options.protocols ?? [EXEC_PROTOCOL, protocolOf(key)], { headers });
}

/** The status before any 101, or 101 itself. */
async function statusOf(socket: WebSocket): Promise<number> {
  return new Promise((resolve, reject) => {
    socket.once("open", () => {
      resolve(101);
      socket.terminate();
    });
    socket.once("unexpected-response", (_, answer) => resolve(answer.statusCode ?? 0));
    socket.once("error", reject);
  });
}

/** What was answered instead of 101. */
async function refusalOf(socket: WebSocket): Promise<{ status: number; error: object }> {
  return new Promise((resolve, reject) => {
    socket.once("open", () => reject(new Error("it was accepted")));
    socket.once("unexpected-response", async (_, answer) => {
      let text = "";
      for await (const part of answer) text += part;
      resolve({ status: answer.statusCode ?? 0, ...JSON.parse(text) });
    });
    socket.once("error", reject);
  });
}

async function messages(socket: WebSocket): Promise<{ replies: ExecReply[]; code: number }> {
  const replies: ExecReply[] = [];
  socket.on("message", (data, isBinary) => void (isBinary || replies.push(JSON.parse(String(data)))));
  const [code] = await once(socket, "close", { signal: AbortSignal.timeout(60_000) });
  return { replies, code };
}

describe("AZ-7 a WebSocket", () => {
  it("is accepted for its owner alone, and its key never comes back", async () => {
    const socket = open();
    await once(socket, "open");
    expect(socket.protocol).toBe(EXEC_PROTOCOL);
    socket.terminate();
    const authorization = `Bearer ${tenants.ownerKey}`;
    expect(await statusOf(open({ protocols: [EXEC_PROTOCOL], headers: { authorization } }))).toBe(101);
  });

  it("is refused before it is accepted", async () => {
    for (const key of ["", "garbage", tenants.revokedKey, tenants.expiredKey, `${tenants.ownerKey}0`]) {
      expect(await statusOf(open({ key })), key).toBe(401);
    }
    expect(await statusOf(open({ protocols: [EXEC_PROTOCOL] }))).toBe(401);
    for (const key of [tenants.strangerKey, tenants.siblingKey]) {
      expect(await statusOf(open({ key })), "another's").toBe(404);
    }
    expect(await statusOf(open({ path: "/v1/sandboxes/nosuch/exec" })), "absent").toBe(404);
    expect(await statusOf(open({ path: "/v1/nothing" }))).toBe(404);
    expect(await statusOf(open({ protocols: [protocolOf(tenants.ownerKey), "other"] }))).toBe(400);
    for (const origin of ["https://evil.test", "null"]) {
      expect(await statusOf(open({ headers: { origin } })), origin).toBe(403);
    }
    expect(await statusOf(open({ headers: { host: "evil.test" } }))).toBe(421);
  });

  it("lets nobody attach to another's command, nor a key without the right run one", async () => {
    const process = await sandbox.exec({ argv: ["sleep", "60"] });
    process.detach();
    const theirs = await tenants.gateway.core.authenticate(tenants.strangerKey);
    const own = await tenants.gateway.core.create(theirs, { ttlMs: 60_000 });
    const socket = open({ key: tenants.strangerKey, path: `/v1/sandboxes/${own.id}/exec` });
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "attach", process: process.id }));
    const { replies } = await messages(socket);
    expect(replies).toMatchObject([{ type: "error", error: { code: "not_found" } }]);
    await tenants.gateway.core.destroy(theirs, own.id);
  });

  it("is accepted by what it will do: for a key that only runs commands, for none that only reads", async () => {
    expect((await refusalOf(open({ key: tenants.powerlessKey }))).status).toBe(403);
    const reader = await tenants.root.keys.create({ name: "looks", operations: READING });
    const seen = await tenants.root.sandboxes.create({ ttlMs: 60_000, visibility: "org" });
    const path = `/v1/sandboxes/${seen.id}/exec`;
    expect(await refusalOf(open({ key: reader.apiKey, path }))).toMatchObject({
      status: 403,
      error: { code: "policy_denied", hint: expect.any(String) },
    });
    const worker = await tenants.root.keys.create({ name: "works", operations: ["sandbox.exec"] });
    const worked = createClient({ url: tenants.gateway.url ?? "", apiKey: worker.apiKey });
    await expect(worked.sandboxes.get(seen.id)).rejects.toMatchObject({ code: "policy_denied" });
    const control = open({ key: worker.apiKey, path });
    await once(control, "open");
    control.send(JSON.stringify({ type: "exec", request: { argv: ["true"] } }));
    expect(
      (await messages(control)).replies.map(({ type }) => type),
      "control",
    ).toEqual(["started", "exit"]);
    await seen.destroy();
  });

  it.each([
    ["no JSON", "{"],
    ["another form", '{"type":"exec","request":{"argv":[]}}'],
    ["unknown fields", '{"type":"exec","request":{"argv":["true"]},"odd":1}'],
    ["bytes", Buffer.from("bytes")],
  ])("closes at a first message of %s", async (_, message) => {
    const socket = open();
    await once(socket, "open");
    socket.send(message);
    const { replies, code } = await messages(socket);
    expect(replies).toMatchObject([{ type: "error", error: { code: "invalid_request" } }]);
    expect(code).toBe(1008);
  });

  it("hears what is said before its command has started", async () => {
    const socket = open();
    await once(socket, "open");
    const replies = messages(socket);
    let output = "";
    socket.on("message", (data: Buffer, isBinary) => {
      if (isBinary) output += data.subarray(9);
    });
    socket.send(JSON.stringify({ type: "exec", request: { argv: ["cat"], stdin: true } }));
    socket.send(Buffer.concat([Buffer.from([0, 0, 0, 1]), Buffer.from("early")]));
    socket.send(JSON.stringify({ type: "end", id: 2 }));
    expect((await replies).replies).toEqual(
      expect.arrayContaining([
        { type: "done", id: 1 },
        { type: "done", id: 2 },
        { type: "exit", exit: { kind: "exited", code: 0 } },
      ]),
    );
    expect(output).toBe("early");
  });

  it("closes at more input than it keeps for a command that has not started", async () => {
    const socket = open();
    await once(socket, "open");
    const ended = messages(socket);
    socket.send(JSON.stringify({ type: "exec", request: { argv: ["sleep", "5"], stdin: true } }));
    for (let part = 0; part < 8; part++) socket.send(Buffer.alloc(1 << 20));
    expect((await ended).code).toBe(1008);
  });

  it("closes at a frame that is too long, however long it says it is", async () => {
    const socket = open();
    await once(socket, "open");
    socket.send(Buffer.alloc(2 << 20));
    expect((await messages(socket)).code).toBe(1009);
  });

  it.each([
    ["POST", { "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": `${"A".repeat(22)}==` }, /GET/],
    ["GET", { "Sec-WebSocket-Version": "12", "Sec-WebSocket-Key": `${"A".repeat(22)}==` }, /Version/],
    ["GET", { "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "short" }, /Key/],
    ["GET", {}, /Version/],
  ])("is refused as any request is where its opening is none: %s %o", async (method, more, why) => {
    const asked = request(`${tenants.gateway.url}/v1/sandboxes/${sandbox.id}/exec`, {
      method,
      headers: {
        Connection: "Upgrade",
        Upgrade: "websocket",
        Authorization: `Bearer ${tenants.ownerKey}`,
        "Sec-WebSocket-Protocol": EXEC_PROTOCOL,
        ...more,
      },
    }).end();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    expect(answer.statusCode).toBe(400);
    expect(JSON.parse(await text(answer))).toMatchObject({
      error: { code: "invalid_request", message: expect.stringMatching(why), requestId: expect.any(String) },
    });
  });

  it("closes at a frame that says it is a gigabyte, before any of it has come", async () => {
    const { port } = new URL(tenants.gateway.url ?? "");
    const socket = connect(Number(port), "127.0.0.1");
    const offers = [EXEC_PROTOCOL, protocolOf(tenants.ownerKey)].join(", ");
    const lines = [
      `GET /v1/sandboxes/${sandbox.id}/exec HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      `Sec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}`,
      `Sec-WebSocket-Protocol: ${offers}`,
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    const parts: Buffer[] = [];
    socket.on("data", (part) => parts.push(part));
    const heard = () => Buffer.concat(parts);
    await expect.poll(() => heard().toString("latin1")).toMatch(/ 101 [\s\S]*\r\n\r\n/);
    const answered = heard().indexOf("\r\n\r\n") + 4;
    const before = process.memoryUsage().rss;
    // A whole binary message, masked, its length in eight bytes.
    const head = Buffer.alloc(14);
    head.set([0x82, 0xff]);
    head.writeBigUInt64BE(1n << 30n, 2);
    const closed = once(socket, "close", { signal: AbortSignal.timeout(60_000) });
    socket.write(head);
    await closed;
    const said = heard().subarray(answered);
    expect([said[0], said.readUInt16BE(2)], "a close frame: too big").toEqual([0x88, 1009]);
    expect(process.memoryUsage().rss - before, "nothing was set aside for it").toBeLessThan(256 << 20);
  });

  it("ends when its key's time is up in the middle of a stream, and takes the command along", async () => {
    const until = async (lastsMs: number) => {
      const given = { name: "brief", expiresAtMs: Date.now() + lastsMs };
      const { apiKey } = await tenants.owner.keys.create(given);
      const agent = createClient({ url: tenants.gateway.url ?? "", apiKey });
      const mine = await agent.sandboxes.create({ ttlMs: 60_000 });
      return mine.exec({ argv: ["sleep", "60"] }, { over: "websocket" });
    };
    // On a machine that is busy the key may be over before the command has begun: then with more time.
    const process = await until(3_000).catch(() => until(20_000));
    await expect(process.events[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "unauthenticated",
    });
  });

  it("ends when its key does, and takes the command along", async () => {
    const { apiKey, key } = await tenants.owner.keys.create({ name: "brief" });
    const agent = createClient({ url: tenants.gateway.url ?? "", apiKey });
    const mine = await agent.sandboxes.create({ ttlMs: 60_000 });
    const process = await mine.exec({ argv: ["sleep", "60"] }, { over: "websocket" });
    const cut = expect(process.events[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "unauthenticated",
    });
    await tenants.owner.keys.revoke(key.id);
    await cut;
  });
});

describe("a WebSocket that breaks", () => {
  /** Passes bytes on, until it is told to cut every connection. */
  async function openProxy() {
    const { port } = new URL(tenants.gateway.url ?? "");
    const live = new Set<Socket>();
    const server = createServer((from) => {
      const to = connect(Number(port), "127.0.0.1");
      for (const socket of [from, to]) {
        live.add(socket);
        socket.on("error", () => {}).on("close", () => live.delete(socket));
      }
      from.pipe(to).pipe(from);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const cut = () => {
      for (const socket of live) socket.destroy();
    };
    const { port: own } = server.address() as { port: number };
    const close = () => {
      cut();
      server.close();
    };
    return { url: `http://127.0.0.1:${own}`, cut, close };
  }

  it("goes on where it was, without a byte twice or missing", async () => {
    const proxy = await openProxy();
    const client = createClient({ url: proxy.url, apiKey: tenants.ownerKey });
    const far = await client.sandboxes.get(sandbox.id);
    const count = "i=0; while [ $i -lt 400 ]; do echo line $i; i=$((i+1)); sleep 0.005; done; cat; exit 3";
    const process = await far.exec({ argv: ["sh", "-c", count], stdin: true }, { over: "websocket" });
    let text = "";
    let cuts = 0;
    for await (const event of process.events) {
      if (event.type === "exit") {
        expect(event.exit).toEqual({ kind: "exited", code: 3 });
        break;
      }
      text += new TextDecoder().decode(event.data);
      const lines = text.split("\n").length;
      if (lines > (cuts + 1) * 80 && cuts < 3) {
        cuts++;
        proxy.cut();
      }
      if (text.includes("line 399\n") && !text.includes("typed")) {
        await process.writeStdin(new TextEncoder().encode("typed\n"));
        await process.closeStdin();
      }
    }
    const lines = Array.from({ length: 400 }, (_, line) => `line ${line}\n`).join("");
    expect(text).toBe(`${lines}typed\n`);
    expect(cuts).toBe(3);
    proxy.close();
  });
});
