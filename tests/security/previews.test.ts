import { readFileSync } from "node:fs";
import { request } from "node:http";
import type { Preview } from "@sandboxer/contract";
import { createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { requires } from "../capabilities/requires.ts";
import { openTenants, type Tenants } from "./matrix/tenants.ts";
import { SERVER_INSIDE } from "./preview-server.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

let tenants: Tenants;
let sandbox: Sandbox;
let preview: Preview;

interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
}

/** To the gateway's own socket, whatever name the address has. */
function get(url: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> {
  const { hostname, port } = new URL(tenants.gateway.url ?? "");
  const { host, pathname, search } = new URL(url);
  const options = { hostname, port, path: pathname + search, headers: { host, ...headers } };
  return new Promise((resolve, reject) => {
    const asking = request({ ...options, method: body === undefined ? "GET" : "POST" }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part) => (text += part));
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
    });
    asking.on("error", reject).end(body);
  });
}

const cookieOf = ({ headers }: Answer) => String(headers["set-cookie"]).split(";")[0] ?? "";
const originOf = (url: string) => new URL(url).origin;

beforeAll(async () => {
  tenants = await openTenants({ listen: { host: "127.0.0.1", port: 0 } });
  sandbox = await tenants.owner.sandboxes.create({ ttlMs: 600_000 });
  await sandbox.files.write("server.py", [new TextEncoder().encode(SERVER_INSIDE)]);
  const server = await sandbox.exec({ argv: ["python3", "server.py"] });
  server.detach();
  preview = await sandbox.preview(3000);
  await vi.waitUntil(async () => (await get(preview.pathUrl)).status === 200, {
    timeout: 60_000,
    interval: 50,
  });
});
afterAll(() => tenants?.close());

describe("a preview", () => {
  it("opens in a browser and keeps its token in a cookie of its own host", async () => {
    const first = await get(preview.url);
    expect(first).toMatchObject({ status: 303, headers: { location: "/" } });
    expect(String(first.headers["set-cookie"])).toMatch(/HttpOnly; SameSite=Lax/);
    const page = await get(`${originOf(preview.url)}/page?a=1`, { cookie: `mine=1; ${cookieOf(first)}` });
    expect(page.status).toBe(200);
    expect(JSON.parse(page.text)).toMatchObject({ path: "/page?a=1", headers: { cookie: "mine=1" } });
    const posted = await get(`${originOf(preview.url)}/`, { cookie: cookieOf(first) }, "body");
    expect(JSON.parse(posted.text)).toMatchObject({ method: "POST", body: "body" });
  });

  it("is reached by path and by header too, and by WebSocket", async () => {
    expect(JSON.parse((await get(`${preview.pathUrl}deep/er?b=2`)).text)).toMatchObject({
      path: "/deep/er?b=2",
    });
    const headers = { "x-sandboxer-preview": preview.token };
    expect((await get(`${originOf(preview.url)}/`, headers)).status).toBe(200);
    const { host } = new URL(preview.url);
    for (const [path, more] of [
      ["/socket", { host, "x-sandboxer-preview": preview.token }],
      [`/socket?sandboxer-preview=${preview.token}`, { host }],
      [`/preview/${preview.token}/socket`, {}],
    ] as const) {
      const url = (tenants.gateway.url ?? "").replace("http", "ws");
      const socket = new WebSocket(url + path, { headers: { ...more } });
      const said = await new Promise((resolve, reject) => {
        socket.on("message", (data) => resolve(String(data))).on("error", reject);
        socket.on("open", () => socket.send("hello"));
      });
      expect(said, path).toBe("/socket hello");
      socket.terminate();
    }
  });

  it("passes long answers on as they come", async () => {
    const { text } = await get(`${preview.pathUrl}long`);
    expect(text).toHaveLength(3_000_000);
  });
});

describe("AZ-6 a preview gives its sandbox nothing, and its visitor that port alone", () => {
  const everyHeader = async (answer: Answer) => JSON.stringify(JSON.parse(answer.text).headers);

  it("never shows the sandbox a key, a token or a cookie of the gateway's", async () => {
    const first = await get(preview.url);
    const seen = await everyHeader(
      await get(`${originOf(preview.url)}/`, {
        cookie: `a=b; ${cookieOf(first)}`,
        authorization: `Bearer ${tenants.ownerKey}`,
        "x-api-key": tenants.ownerKey,
        "x-forwarded-for": "10.0.0.1",
        "keep-alive": "x",
        te: "trailers",
        connection: "x-hop",
        "x-hop": "1",
      }),
    );
    for (const secret of [
      tenants.ownerKey,
      preview.token,
      "sandboxer-preview",
      "x-hop",
      "10.0.0.1",
      "trailers",
    ]) {
      expect(seen).not.toContain(secret);
    }
    const own = await get(`${originOf(preview.url)}/`, {
      cookie: cookieOf(first),
      authorization: "Basic YTpi",
    });
    expect(await everyHeader(own), "control: its own passwords arrive").toContain("Basic YTpi");
  });

  it("keeps what the sandbox says to its own host", async () => {
    const token = { "x-sandboxer-preview": preview.token };
    const { headers } = await get(`${originOf(preview.url)}/cookies`, token);
    expect(headers["set-cookie"]).toEqual(["app=1; Path=/"]);
    expect(headers["strict-transport-security"]).toBeUndefined();
    const below = await get(`${preview.pathUrl}cookies`);
    expect(below.headers["set-cookie"]).toBeUndefined();
    expect(below.headers["content-security-policy"]).toMatch(
      /^(?!.*allow-same-origin).*sandbox allow-scripts/,
    );
    expect(below.headers["referrer-policy"]).toBe("no-referrer");
  });

  it("leads to no API, nor does the API's host lead to it", async () => {
    const token = { "x-sandboxer-preview": preview.token, authorization: `Bearer ${tenants.ownerKey}` };
    const through = await get(`${originOf(preview.url)}/v1/whoami`, token);
    expect(JSON.parse(through.text)).toMatchObject({ path: "/v1/whoami" });
    const api = await get(`${tenants.gateway.url}/v1/whoami`, {
      cookie: `sandboxer-preview=${preview.token}`,
    });
    expect(api.status).toBe(401);
  });

  it("is asked for by path through a name of ours alone, by WebSocket too", async () => {
    const path = `/preview/${preview.token}/socket`;
    const upgraded = (headers: Record<string, string>) =>
      new Promise((resolve, reject) => {
        const url = (tenants.gateway.url ?? "").replace("http", "ws");
        const socket = new WebSocket(url + path, { headers });
        socket.once("open", () => resolve(101)).once("error", reject);
        socket.once("open", () => socket.terminate());
        socket.once("unexpected-response", (_, { statusCode }) => resolve(statusCode));
      });
    for (const host of ["evil.test", "preview.localhost.evil.test"]) {
      expect((await get(preview.pathUrl, { host })).status, host).toBe(421);
      expect(await upgraded({ host }), host).toBe(421);
    }
    expect((await get(preview.pathUrl)).status, "control").toBe(200);
    expect(await upgraded({}), "control").toBe(101);
  });

  it("is refused without its token, with another's, and when its time is up", async () => {
    const root = `${originOf(preview.url)}/`;
    const refused = async (url: string, headers: Record<string, string> = {}) =>
      (await get(url, headers)).status;
    expect(await refused(root)).toBe(401);
    const other = await sandbox.preview(3001);
    const forged = `${preview.token.slice(0, -2)}AA`;
    for (const token of ["", "x.y", forged, other.token]) {
      expect(await refused(root, { "x-sandboxer-preview": token }), token).toBe(401);
      if (token !== other.token)
        expect(await refused(`${tenants.gateway.url}/preview/${token}/`)).not.toBe(200);
    }
    expect(await refused(other.pathUrl), "nobody listens there").toBe(409);
    const brief = await sandbox.preview(3000, { ttlMs: 10_000 });
    expect(await refused(brief.pathUrl), "control").toBe(200);
    await expect.poll(() => refused(brief.pathUrl)).toBe(401);
  });

  it("ends with the key that opened it", async () => {
    const { apiKey, key } = await tenants.owner.keys.create({ name: "lender" });
    const lender = createClient({ url: tenants.gateway.url ?? "", apiKey });
    const mine = await lender.sandboxes.create({ ttlMs: 60_000 });
    const lent = await mine.preview(3000);
    expect((await get(lent.pathUrl)).status, "control: let in, and nobody listens").toBe(409);
    await tenants.owner.keys.revoke(key.id);
    expect((await get(lent.pathUrl)).status).toBe(401);
  });

  it("does not lend its cookie to pages of another sandbox", async () => {
    const cookie = cookieOf(await get(preview.url));
    const root = `${originOf(preview.url)}/`;
    const { host } = new URL(root);
    const elsewhere = `http://3000-${"a".repeat(20)}.preview.localhost`;
    expect((await get(root, { cookie, origin: elsewhere })).status).toBe(401);
    expect(
      (await get(root, { cookie, "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" })).status,
    ).toBe(401);
    expect((await get(root, { cookie, origin: `http://${host}` })).status, "control").toBe(200);
    expect(
      (await get(root, { cookie, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" })).status,
    ).toBe(200);
  });

  it("EG-22 leads inside by its own host and token alone, whatever a request says of where it goes", async () => {
    const stranger = createClient({ url: tenants.gateway.url ?? "", apiKey: tenants.strangerKey });
    const theirs = await stranger.sandboxes.create({ ttlMs: 60_000 });
    const foreign = await theirs.preview(3000);
    const { host } = new URL(preview.url);
    const [label = "", ...domain] = host.split(".");
    const below = domain.join(".");
    const token = { "x-sandboxer-preview": preview.token };
    const spoofs: Record<string, [host: string, headers: Record<string, string>]> = {
      "no token": [host, {}],
      "another tenant's token": [host, { "x-sandboxer-preview": foreign.token }],
      "another tenant's host": [new URL(foreign.url).host, token],
      "a host of nobody's": [`3000-${"a".repeat(20)}.${below}`, token],
      "another port of it": [`3001-${label.split("-")[1]}.${below}`, token],
      "more in front": [`x.${host}`, token],
      "no sandbox at all": [below, token],
      "a host beside it": [`${label}.evil.test`, token],
      "the gateway's own": [new URL(tenants.gateway.url ?? "").host, token],
      "another by a proxy's word": [
        new URL(tenants.gateway.url ?? "").host,
        { ...token, "x-forwarded-host": host, forwarded: `host=${host}`, "x-original-host": host },
      ],
    };
    for (const [what, [spoofed, headers]] of Object.entries(spoofs)) {
      const { status, text } = await get(`http://${host}/`, { ...headers, host: spoofed });
      expect([401, 404, 421], what).toContain(status);
      expect(text, `${what}: what is inside heard nothing`).not.toContain('"method"');
    }
    const asked = stranger.sandboxes.get(sandbox.id);
    await expect(asked, "nor is it theirs to open").rejects.toMatchObject({ code: "not_found" });
    const fine = await get(`http://${host}/`, { ...token, host });
    expect(fine.text, "control").toContain('"method"');
    await theirs.destroy();
  });

  it("EG-22 what listens inside on every address listens nowhere on this machine", async () => {
    // Above those that the kernel hands out by itself: nobody else listens there.
    const port = 61_417;
    const listening = (tables: string) =>
      tables
        .split("\n")
        .map((line) => line.trim().split(/\s+/))
        .flatMap(([, local = "", , state]) => (state === "0A" ? [local] : []));
    const isThere = (tables: string) =>
      listening(tables).some((local) => local.endsWith(port.toString(16).toUpperCase()));
    const argv = ["python3", "-m", "http.server", "--bind", "0.0.0.0", `${port}`];
    const server = await sandbox.exec({ argv });
    const inside = async () =>
      new TextDecoder().decode((await sandbox.run(["cat", "/proc/net/tcp", "/proc/net/tcp6"])).stdout);
    await expect.poll(async () => isThere(await inside()), { timeout: 30_000 }).toBe(true);
    const opened = await sandbox.preview(port);
    expect((await get(opened.pathUrl)).status, "and it is open to whoever has its token").toBe(200);
    const here = ["/proc/net/tcp", "/proc/net/tcp6"].map((path) => readFileSync(path, "utf8")).join("\n");
    expect(isThere(here)).toBe(false);
    const own = Number(new URL(tenants.gateway.url ?? "").port)
      .toString(16)
      .toUpperCase()
      .padStart(4, "0");
    const gateway = listening(here).filter((local) => local.endsWith(`:${own}`));
    expect(gateway, "the gateway itself is on loopback alone").toEqual([`0100007F:${own}`]);
    await server.signal("KILL");
  });
});
