import { readFileSync } from "node:fs";
import type { LogRecord } from "@sandboxer/gateway";
import { createClient } from "@sandboxer/sdk";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { configSchema } from "../../apps/gateway/src/config/schema.ts";
import { documentOf } from "../../apps/gateway/src/openapi/document.ts";
import { ROUTES } from "../../apps/gateway/src/rest/table.ts";
import { requires } from "../capabilities/requires.ts";
import { type Document, operationsOf, requestOf } from "./matrix/operations.ts";
import { absent, openTenants, type Tenants } from "./matrix/tenants.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 180_000 });

let tenants: Tenants;
const logged: LogRecord[] = [];

beforeAll(async () => {
  tenants = await openTenants({
    listen: { host: "127.0.0.1", port: 0 },
    log: (record) => logged.push(record),
  });
});
afterAll(() => tenants?.close());

const url = () => tenants.gateway.url ?? "";

/** Over a real socket, with headers that `fetch` keeps to itself. */
async function raw(path: string, headers: Record<string, string>, method = "GET", body?: string) {
  const { request } = await import("node:http");
  const { hostname, port } = new URL(url());
  const authorization = `Bearer ${tenants.ownerKey}`;
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]> }>((resolve, reject) => {
    const asking = request(
      { hostname, port, path, method, headers: { authorization, ...headers } },
      (answer) => {
        answer
          .resume()
          .once("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers }));
      },
    );
    asking.once("error", reject).end(body);
  });
}

/** REST, what is public, previews, and E2B's control plane, volumes and uploads. */
const DOORS = [
  "/v1/whoami",
  "/health",
  "/metrics",
  "/v1/reference",
  "/v1/openapi.json",
  "/nothing",
  "/preview/abc.def/",
  "/sandboxes",
  "/v2/sandboxes",
  "/templates",
  "/volumes",
  "/volumecontent/vol_aaaaaaaaaaaaaaaaaaaa/path?path=/",
  `/templates/uploads/${"a".repeat(43)}`,
  "/files?signature=v1_abc&path=a",
];

describe("AZ-6 a page in a browser on this machine", () => {
  it("is refused by its Origin and by a Host that is not ours", async () => {
    for (const origin of ["https://evil.test", "null", "http://localhost:1", url()]) {
      expect(await raw("/v1/whoami", { origin }), origin).toMatchObject({ status: 403 });
    }
    for (const host of [
      "evil.test",
      "localhost.evil.test",
      "127.0.0.1.nip.io",
      "0.0.0.0",
      "127.0.0.1@evil.test",
      "localhost.",
      "127.1",
      "2130706433",
      "[::ffff:127.0.0.1]",
      "localhost:99999999",
    ]) {
      const near = { host, "x-forwarded-host": "localhost", forwarded: "host=localhost" };
      expect(await raw("/v1/whoami", near), host).toMatchObject({ status: 421 });
    }
    expect(await raw("/v1/whoami", {}), "control").toMatchObject({ status: 200 });
  });

  it.each(DOORS)("is refused at every door: %s", async (path) => {
    const { apiKey } = tenants.gateway;
    const keys = { "x-api-key": apiKey, authorization: `Bearer ${apiKey}` };
    for (const host of ["evil.test", "api.evil.test", "49983-evil.test"]) {
      expect(await raw(path, { ...keys, host }), host).toMatchObject({ status: 421 });
    }
    // Pages of a preview by path are of no origin at all; its token lets in, and opens nothing of ours.
    for (const origin of path.startsWith("/preview/") ? [] : ["https://evil.test", "null"]) {
      expect(await raw(path, { ...keys, origin }), origin).toMatchObject({ status: 403 });
    }
    const { status } = await raw(path, keys);
    expect([403, 421], `control: ${status}`).not.toContain(status);
  });

  it("is refused by a target that names another host than the header does", async () => {
    for (const path of [
      "http://evil.test/v1/whoami",
      "//evil.test/v1/whoami",
      "http://localhost@evil.test/",
    ]) {
      expect((await raw(path, {})).status, path).toBeGreaterThanOrEqual(400);
    }
  });

  it("cannot post what a form can, nor authenticate by an address or by being near", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
      expect(await raw("/v1/sandboxes", { "content-type": type }, "POST", "{}")).toMatchObject({
        status: 400,
      });
    }
    const near = { authorization: "", "x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1" };
    for (const query of [
      "",
      `?key=${tenants.ownerKey}`,
      `?token=${tenants.ownerKey}`,
      `?access_token=${tenants.ownerKey}`,
      `?apiKey=${tenants.ownerKey}`,
      `?gatewayUrl=http://x`,
    ]) {
      expect(await raw(`/v1/whoami${query}`, near), query).toMatchObject({ status: 401 });
    }
    const cookie = ["key", "token", "apiKey", "sandboxer-preview"].map(
      (name) => `${name}=${tenants.ownerKey}`,
    );
    const basic = `Basic ${Buffer.from(`${tenants.ownerKey}:${tenants.ownerKey}`).toString("base64")}`;
    for (const authorization of ["", basic, tenants.ownerKey, `Token ${tenants.ownerKey}`]) {
      expect(await raw("/v1/whoami", { ...near, authorization, cookie: cookie.join("; ") })).toMatchObject({
        status: 401,
      });
    }
  });

  it("cannot frame an answer, and finds it only on loopback", async () => {
    for (const path of ["/health", "/v1/reference", "/v1/whoami", "/nothing"]) {
      const { headers } = await raw(path, {});
      expect(headers["content-security-policy"], path).toContain("frame-ancestors 'none'");
      expect(headers["x-content-type-options"], path).toBe("nosniff");
    }
    const port = Number(new URL(url()).port).toString(16).toUpperCase().padStart(4, "0");
    const sockets = ["tcp", "tcp6"].flatMap((file) => readFileSync(`/proc/net/${file}`, "utf8").split("\n"));
    const local = sockets
      .map((line) => line.trim().split(/\s+/))
      .filter(([, at, , state]) => state === "0A" && at?.endsWith(`:${port}`));
    expect(local.map(([, at]) => at)).toEqual([`0100007F:${port}`]);
  });
});

describe("AZ-6 a page that the operator allowed", () => {
  it("may ask and read, and no other page with it", async () => {
    const app = "https://app.test";
    const open = await openTenants({
      listen: { host: "127.0.0.1", port: 0 },
      config: configSchema.parse({ allowed: { origins: [app] } }),
    });
    try {
      const at = `${open.gateway.url}/v1/whoami`;
      const preflight = (origin: string) =>
        fetch(at, { method: "OPTIONS", headers: { origin, "access-control-request-method": "GET" } });
      const asked = await preflight(app);
      expect(asked.status).toBe(204);
      expect(asked.headers.get("access-control-allow-origin")).toBe(app);
      expect(asked.headers.get("access-control-allow-headers")).toContain("authorization");
      expect(asked.headers.get("access-control-allow-credentials")).toBeNull();
      for (const origin of ["https://evil.test", `${app}.evil.test`, "null"]) {
        const refused = await preflight(origin);
        expect(refused.status, origin).toBe(403);
        expect(refused.headers.get("access-control-allow-origin"), origin).toBeNull();
      }
      const headers = { origin: app, authorization: `Bearer ${open.ownerKey}` };
      const answer = await fetch(at, { headers });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("access-control-expose-headers")).toContain("x-request-id");
    } finally {
      await open.close();
    }
  });
});

const HOSTILE = [
  "-oProxyCommand=id",
  "--help",
  "$(id)",
  "`id`",
  "a\nb",
  "'; id; '",
  '"',
  "../..",
  "a\u202eb",
  "\x1b]52;c;aGk=\x07",
];

const BOUND = [{ host: "api.test", place: { in: "header" as const, name: "authorization" } }];

describe("AZ-8 words that look like something else", () => {
  it("are refused where they are names", async () => {
    const client = tenants.owner;
    for (const word of HOSTILE) {
      const attempts = [
        client.sandboxes.create({ name: word }),
        client.sandboxes.create({ image: { kind: "oci", ref: word } }),
        client.sandboxes.create({ extensions: [word] }),
        client.sandboxes.create({ profile: word }),
        client.sandboxes.get(word),
        client.keys.create({ name: word }),
        client.sandboxes.create({ network: { egress: "guarded", rules: [{ host: word }] } }),
        client.sandboxes.create({ volumes: [{ volume: word, target: "/data" }] }),
        client.sandboxes.create({ workspace: { source: word } }),
        client.sandboxes.create({ secrets: [word] }),
        client.sandboxes.create({ isolation: word as "container" }),
        client.volumes.create({ name: word }),
        client.volumes.get(word),
        client.secrets.set(word, { value: "long enough to be one", bindings: BOUND }),
        client.profiles.get(word),
        client.webhooks.create({ url: word }),
      ];
      const refused = { code: expect.stringMatching(/invalid_request|not_found|no_candidate/) };
      await Promise.all(attempts.map((attempt) => expect(attempt, word).rejects.toMatchObject(refused)));
    }
  });

  it("arrive as they are where they are data", async () => {
    const sandbox = await tenants.owner.sandboxes.create({ labels: { word: HOSTILE.join(" ") } });
    const print = ["sh", "-c", 'printf "%s\\0" "$@"; printf %s "$WORD"', "sh"];
    const text = fc.string({ unit: "grapheme" }).filter((one) => !one.includes("\0"));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(text, fc.constantFrom(...HOSTILE)), { minLength: 1 }),
        async (words) => {
          const { stdout } = await sandbox.run([...print, ...words], { env: { WORD: words[0] ?? "" } });
          expect(new TextDecoder().decode(stdout).split("\0")).toEqual([...words, words[0]]);
        },
      ),
      { numRuns: 60 },
    );
    for (const folder of HOSTILE.filter((word) => word !== "../..")) {
      await sandbox.files.mkdir(folder);
      const { stdout } = await sandbox.run(["pwd"], { cwd: folder });
      expect(new TextDecoder().decode(stdout)).toBe(`/home/user/${folder}\n`);
    }
    for (const user of HOSTILE) {
      await expect(sandbox.run(["true"], { user })).rejects.toMatchObject({ code: "no_such_user" });
    }
    expect(sandbox.info.spec.labels.word).toBe(HOSTILE.join(" "));
    await sandbox.destroy();
  });
});

describe("AZ-9 requests that nobody would write", () => {
  const operations = operationsOf(documentOf(ROUTES) as unknown as Document).filter(
    ({ path }) => path !== "/v1/events",
  );
  const odd = fc.oneof(
    fc.constantFrom(
      null,
      -1,
      1e308,
      2 ** 53,
      "",
      "\0",
      "\u202e",
      "__proto__",
      [],
      {},
      true,
      "a".repeat(5_000),
    ),
    fc.jsonValue({ maxDepth: 6 }),
  );

  it("are never answered with a defect", async () => {
    const before = process.memoryUsage().rss;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...operations),
        fc.dictionary(
          fc.oneof(fc.constantFrom("argv", "ttlMs", "env", "path", "name", "constructor"), fc.string()),
          odd,
        ),
        fc.dictionary(fc.string({ minLength: 1 }), fc.string(), { maxKeys: 2 }),
        fc.boolean(),
        async (operation, members, query, merged) => {
          const body = operation.body ? { ...(merged && operation.body), ...members } : undefined;
          const asked = { named: absent(), apiKey: tenants.ownerKey, query };
          const { path, init } = requestOf(operation, body ? { ...asked, body } : asked);
          const response = await fetch(url() + path, init);
          const text = await response.text();
          expect(response.status, `${operation.name} ${text}`).toBeLessThan(500);
          expect(text).not.toContain("node_modules");
        },
      ),
      { numRuns: 400 },
    );
    expect(logged.filter(({ event }) => event === "defect")).toEqual([]);
    expect(process.memoryUsage().rss - before, "memory stays").toBeLessThan(200 << 20);
  });
});

describe("AZ-9 addresses and headers that nobody would write", () => {
  const WORDS = [
    "%00",
    "%ed%a0%80",
    "%ff",
    "%",
    "%2e%2e%2f",
    "%0d%0aset-cookie:a=b",
    "__proto__",
    "constructor",
  ];

  it.each(WORDS)("%s", async (word) => {
    const since = logged.length;
    for (const path of [
      `/v1/sandboxes/${word}`,
      `/v1/sandboxes/${word}/files/content?path=${word}`,
      `/v1/sandboxes?state=${word}&limit=${word}`,
      `/v1/${word}`,
      `/${word}`,
      `/preview/${word}.${word}/`,
    ]) {
      const { status, headers } = await raw(path, {});
      expect([400, 401, 404], path).toContain(status);
      expect(headers["set-cookie"], path).toBeUndefined();
    }
    expect(logged.slice(since).filter(({ event }) => event === "defect")).toEqual([]);
  });

  it("of any length", async () => {
    // Beyond what Node reads of a head it answers 431 and lets go, which may cut the answer short.
    const head = await raw(`/v1/sandboxes/${"a".repeat(100_000)}`, {}).catch(() => ({ status: 431 }));
    expect(head.status).toBe(431);
    expect((await raw("/v1/whoami", { authorization: `Bearer ${"a".repeat(5_000)}` })).status).toBe(401);
    const once = { "content-type": "application/json", "idempotency-key": "k".repeat(5_000) };
    expect((await raw("/v1/sandboxes", once, "POST", "{}")).status).toBe(400);
    expect((await raw("/v1/whoami", {})).status, "control").toBe(200);
  });
});

describe("AZ-10 what comes from inside", () => {
  it("is data in answers and in the log", async () => {
    logged.length = 0;
    const hostile = "\x1b]52;c;aGk=\x07<img src=x onerror=alert(1)>\u202e";
    const client = createClient({ url: url(), apiKey: tenants.ownerKey });
    const sandbox = await client.sandboxes.create();
    await sandbox.files.write(hostile, [new TextEncoder().encode(hostile)]);
    expect((await sandbox.files.list(".")).map(({ path }) => path).join()).toContain(hostile);
    await sandbox.run(["sh", "-c", "true", hostile]);
    const { headers } = await raw(
      `/v1/sandboxes/${sandbox.id}/files/content?path=${encodeURIComponent(hostile)}`,
      {},
    );
    expect(headers["content-type"]).toBe("application/octet-stream");
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
    const log = logged.map((record) => JSON.stringify(record)).join("\n");
    expect(log).not.toContain("\x1b");
    expect(log).not.toContain("<img");
    await sandbox.destroy();
  });
});
