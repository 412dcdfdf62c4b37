import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorAnswerSchema } from "@sandboxer/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endProcessesOf } from "../../../../tests/capabilities/processes.ts";
import { type Gateway, openGateway } from "../compose.ts";
import type { LogRecord } from "../log.ts";
import { ROUTES } from "./table.ts";

let home: string;
let gateway: Gateway;
const logged: LogRecord[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "sandboxer-rest-"));
  gateway = await openGateway({ home, listen: false, log: (record) => logged.push(record) });
});
afterAll(async () => {
  await gateway.close();
  endProcessesOf(home);
  await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

const ID = "a".repeat(20);

/** The answer must be an error of ours, and never our fault. */
async function refusal(path: string, init: RequestInit = {}) {
  const headers = { authorization: `Bearer ${gateway.apiKey}`, ...(init.headers as Record<string, string>) };
  const response = await gateway.fetch(`http://localhost${path}`, { ...init, headers });
  const text = await response.text();
  expect(response.status, text).toBeLessThan(500);
  expect(text).not.toContain("at file:");
  const { error } = errorAnswerSchema.parse(JSON.parse(text));
  expect(error.requestId).toBe(response.headers.get("x-request-id"));
  return { status: response.status, code: error.code, message: error.message, hint: error.hint };
}

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  refusal(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

describe("every route", () => {
  const filled = (path: string) =>
    path
      .replace("{id}", ID)
      .replace("{process}", "p1")
      .replace("{port}", "80")
      .replace("{connection}", `con_${ID}`)
      .replace("{key}", `key_${ID}`)
      .replace("{ref}", "nosuch@9")
      .replace("{attachment}", `att_${ID}`)
      .replace("{webhook}", `whk_${ID}`);
  const guarded = ROUTES.filter(({ operation }) => operation !== "public");

  it.each(guarded.map((route) => [route.method, route.path]))("%s %s wants a key", async (method, path) => {
    for (const authorization of ["", "Bearer ", "Bearer wrong", "Basic abc", gateway.apiKey]) {
      const answer = await refusal(filled(path), { method, headers: { authorization } });
      expect(answer).toMatchObject({ status: 401, code: "unauthenticated" });
    }
  });

  it.each(ROUTES.map((route) => [route.method, route.path]))("%s %s wants our name", async (method, path) => {
    for (const host of [
      "evil.test",
      "localhost.evil.test",
      "127.0.0.1.evil.test:80",
      "localhost:",
      "[::1",
      "0.0.0.0",
    ]) {
      expect(await refusal(filled(path), { method, headers: { host } })).toMatchObject({ status: 421 });
    }
    for (const origin of ["https://evil.test", "null", "http://localhost:7070"]) {
      const answer = await refusal(filled(path), { method, headers: { origin } });
      expect(answer).toMatchObject({ status: 403, code: "policy_denied" });
    }
  });

  it("answers for an unknown sandbox as for an unknown route", async () => {
    for (const { method, path, body } of guarded.filter((route) => route.path.includes("{id}"))) {
      const init =
        body && body !== "bytes" ? { headers: { "content-type": "application/json" }, body: "{}" } : {};
      const { code } = await refusal(filled(path), { method, ...init });
      expect(["not_found", "invalid_request"], `${method} ${path}`).toContain(code);
    }
    const hint = expect.stringContaining("GET /v1/reference");
    expect(await refusal("/v1/nothing")).toMatchObject({ status: 404, code: "not_found", hint });
    expect(await refusal("/v1/sandboxes", { method: "PATCH" })).toMatchObject({ status: 404 });
  });
});

describe("the body", () => {
  const create = "/v1/sandboxes";
  it.each([
    ["an unknown field", { privileged: true }],
    ["a wrong type", { ttlMs: "1h" }],
    ["a number too large", { ttlMs: 1e300 }],
    ["a name that is none", { name: "-oProxyCommand=x" }],
    ["a relative rootfs", { image: { kind: "rootfs", path: "../etc" } }],
    ["a NUL", { env: { A: "\0" } }],
    ["an array", []],
    ["nothing", ""],
    ["no JSON", "{"],
    ["__proto__", '{"env":{"__proto__":"x"}}'],
    ["half a character", '{"env":{"A":"\\ud800"}}'],
    ["depth", "[".repeat(100_000) + "]".repeat(100_000)],
  ])("with %s is refused", async (_, body) => {
    expect(await post(create, body)).toMatchObject({ status: 400, code: "invalid_request" });
  });

  it("must say that it is JSON", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""]) {
      expect(await post(create, "{}", { "content-type": type })).toMatchObject({ code: "invalid_request" });
    }
  });

  it("may not be larger than 4 MiB, announced or not", async () => {
    const large = JSON.stringify({ env: { A: "x".repeat(5 << 20) } });
    expect(await post(create, large)).toMatchObject({ status: 413, code: "payload_too_large" });
    expect(await post(create, "{}", { "content-length": String(5 << 20) })).toMatchObject({ status: 413 });
  });

  it("names the field at fault", async () => {
    const { message } = await post(`${create}/${ID}/exec`, { argv: ["a", 5], env: { "A=B": "x" } });
    expect(message).toContain("argv.1");
    expect(message).toContain("env.A=B");
  });
});

describe("path and query", () => {
  it.each([
    "/v1/sandboxes?limit=0",
    "/v1/sandboxes?limit=x",
    "/v1/sandboxes?state=dancing",
    "/v1/sandboxes?limit=1&limit=2",
    "/v1/sandboxes?colour=red",
    "/v1/sandboxes/UPPER",
    "/v1/sandboxes/%2e%2e%2fetc",
    "/v1/sandboxes/%ff",
    `/v1/sandboxes/${ID}/files/content`,
    `/v1/sandboxes/${ID}/files/content?path=`,
    `/v1/sandboxes/${ID}/files/content?path=a%00b`,
    `/v1/sandboxes/${ID}/files/content?path=a&offset=-1`,
    `/v1/sandboxes/${ID}/files/content?path=a&offset=1e3`,
    `/v1/sandboxes/${ID}/files/stat?path=a&follow=maybe`,
    `/v1/sandboxes/${ID}/processes/..%2f..%2f/output`,
    `/v1/sandboxes/${ID}/processes/p1/output?stdout=0x10`,
  ])("%s is refused", async (path) => {
    expect(await refusal(path)).toMatchObject({ status: 400, code: "invalid_request" });
  });
});

it("answers /health without a key", async () => {
  const response = await gateway.fetch("http://127.0.0.1:7070/health");
  expect(await response.json()).toMatchObject({ status: "ok" });
});

it("logs every request once, without its key, its query or its body", async () => {
  logged.length = 0;
  await post("/v1/sandboxes?secret=query", { env: { secret: "body" }, odd: 1 });
  const text = JSON.stringify(logged);
  expect(logged).toHaveLength(1);
  expect(logged[0]).toMatchObject({ event: "request", method: "POST", path: "/v1/sandboxes", status: 400 });
  expect(text).not.toContain("secret");
  expect(text).not.toContain(gateway.apiKey);
});
