import { Buffer } from "node:buffer";
import { request } from "node:http";
import { Sandbox } from "e2b";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { CONTROL_ROUTES } from "../../apps/gateway/src/e2b/control/table.ts";
import { requires } from "../capabilities/requires.ts";
import { openTenants, type Tenants } from "./matrix/tenants.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

let tenants: Tenants;
let sandbox: Sandbox;
let other: Sandbox;
let url: string;
let token: string;

const optionsOf = (apiKey: string) => ({ apiKey, apiUrl: url, sandboxUrl: url, timeoutMs: 300_000 });

async function ask(path: string, init: RequestInit & { headers?: Record<string, string> } = {}) {
  const answer = await fetch(`${url}${path}`, init);
  const text = await answer.text();
  return { status: answer.status, text, json: text.startsWith("{") ? JSON.parse(text) : undefined };
}

/** envd of the sandbox, with the owner's token unless said otherwise. */
const inside = (path: string, headers: Record<string, string>, body?: string | Uint8Array) =>
  ask(path, {
    method: body === undefined ? "GET" : "POST",
    headers: { "e2b-sandbox-id": sandbox.sandboxId, "x-access-token": token, ...headers },
    ...(body !== undefined && { body: body as BodyInit }),
  });

beforeAll(async () => {
  tenants = await openTenants({ listen: { host: "127.0.0.1", port: 0 } });
  url = tenants.gateway.url ?? "";
  sandbox = await Sandbox.create("base", optionsOf(tenants.ownerKey));
  other = await Sandbox.create("base", optionsOf(tenants.siblingKey));
  const { core } = tenants.gateway;
  token = await core.openAccess(await core.authenticate(tenants.ownerKey), sandbox.sandboxId);
});
afterAll(() => tenants?.close());

const pathOf = (path: string, id: string) =>
  path.replace("{id}", id).replace(/\{(?:alias|hash|build)\}/g, "nothing-of-this-name");
const BODIES: Readonly<Record<string, object>> = {
  "/sandboxes/{id}/timeout": { timeout: 60 },
  "/v2/sandboxes": { templateID: "base" },
  "/sandboxes": { templateID: "base" },
  "/v3/templates": { name: "mine" },
  "/volumes": { name: "mine" },
  "/secrets": { name: "mine", value: "long enough" },
  "/secrets/{id}": { value: "long enough" },
  "/templates/tags": { target: "mine", name: "mine", tags: ["one"] },
};
const each = CONTROL_ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const);

describe("AZ-1 every route of E2B's control API, for everybody who may not", () => {
  const call = (route: (typeof CONTROL_ROUTES)[number], key: string | undefined) =>
    ask(pathOf(route.path, sandbox.sandboxId), {
      method: route.method,
      headers: { "content-type": "application/json", ...(key !== undefined && { "x-api-key": key }) },
      ...(route.body && { body: JSON.stringify(BODIES[route.path] ?? {}) }),
    });

  it.each(each)("%s knows nobody without a good key", async (_, route) => {
    for (const key of [undefined, "e2b_00", tenants.revokedKey, tenants.expiredKey]) {
      const { status, json } = await call(route, key);
      expect(status).toBe(401);
      expect(json).toEqual({ code: 401, message: expect.any(String) });
    }
  });

  it.each(each.filter(([, { operation }]) => operation !== "key"))(
    "%s gives a powerless key nothing",
    async (_, route) => {
      const { status, json } = await call(route, tenants.powerlessKey);
      expect([403, 404]).toContain(status);
      expect(json.code).toBe(status);
    },
  );

  it.each(each.filter(([, { path }]) => path.includes("{id}") && path.startsWith("/sandboxes")))(
    "%s has no sandbox of somebody else's",
    async (_, route) => {
      for (const key of [tenants.strangerKey, tenants.siblingKey]) {
        const { status, json } = await call(route, key);
        expect(status).toBe(404);
        const message = `Sandbox "${sandbox.sandboxId}" doesn't exist or you don't have access to it`;
        expect(json).toEqual({ code: 404, message });
      }
    },
  );

  it("measures nobody else's", async () => {
    const path = `/sandboxes/metrics?sandbox_ids=${sandbox.sandboxId},${other.sandboxId}`;
    const measured = async (key: string) =>
      Object.keys((await ask(path, { headers: { "x-api-key": key } })).json.sandboxes);
    expect(await measured(tenants.strangerKey)).toEqual([]);
    expect(await measured(tenants.siblingKey)).toEqual([other.sandboxId]);
    expect(await measured(tenants.ownerKey), "control").toEqual([sandbox.sandboxId]);
  });

  it("lists nobody else's, and lets its owner do all of it", async () => {
    const listOf = async (key: string) =>
      JSON.parse((await ask("/v2/sandboxes", { headers: { "x-api-key": key } })).text).map(
        ({ sandboxID }: { sandboxID: string }) => sandboxID,
      );
    expect(await listOf(tenants.strangerKey)).toEqual([]);
    expect(await listOf(tenants.siblingKey)).toEqual([other.sandboxId]);
    expect(await listOf(tenants.ownerKey)).toEqual([sandbox.sandboxId]);
  });
});

describe("AZ-1 what E2B's daemon would answer, for everybody who may not", () => {
  const PATHS = [
    "/envs",
    "/metrics",
    "/files/compose",
    "/files?path=/etc/passwd",
    "/process.Process/List",
    "/filesystem.Filesystem/Stat",
  ];

  it.each(PATHS)("%s wants the token of that very sandbox", async (path) => {
    const foreign = await tenants.gateway.core.openAccess(
      await tenants.gateway.core.authenticate(tenants.siblingKey),
      other.sandboxId,
    );
    const body = path.includes(".") && !path.startsWith("/files") ? "{}" : undefined;
    for (const bad of ["", "x", foreign, tenants.ownerKey, `${token}x`, token.split(".")[0] ?? ""]) {
      const refused = await inside(path, { "x-access-token": bad, "content-type": "application/json" }, body);
      expect(refused).toMatchObject({ status: 401, json: { code: 401, message: expect.any(String) } });
    }
    const { status } = await inside(path, { "content-type": "application/json" }, body);
    expect(status).not.toBe(401);
  });

  it("gives nobody a token who does not see the sandbox, and ends a token with its key", async () => {
    const { core } = tenants.gateway;
    for (const key of [tenants.strangerKey, tenants.siblingKey]) {
      const stranger = await core.authenticate(key);
      await expect(core.openAccess(stranger, sandbox.sandboxId)).rejects.toMatchObject({ code: "not_found" });
    }
    const { apiKey, key } = await tenants.owner.keys.create({ name: "brief" });
    const brief = await Sandbox.create("base", optionsOf(apiKey));
    expect(await brief.isRunning()).toBe(true);
    await tenants.owner.keys.revoke(key.id);
    await expect(brief.commands.run("true")).rejects.toThrow();
  });

  it("opens no port of a sandbox that was not made through this door", async () => {
    const plain = await tenants.owner.sandboxes.create({ ttlMs: 60_000 });
    for (const port of [3000, 49_999]) {
      const answer = await new Promise<number | undefined>((resolve, reject) => {
        const host = `${port}-${plain.id}.preview.localhost`;
        request(url, { headers: { host } }, (response) => resolve(response.resume().statusCode))
          .on("error", reject)
          .end();
      });
      expect([401, 502]).toContain(answer);
    }
    await plain.destroy();
  });

  it("answers no foreign page and no foreign name", async () => {
    const origin = await inside("/health", { origin: "https://evil.example" });
    expect(origin.status).toBe(403);
    expect((await inside("/health", {})).status).toBe(204);
  });
});

describe("what is broken on purpose", () => {
  const frame = (flags: number, length: number, text: string) => {
    const head = Buffer.alloc(5);
    head.writeUInt8(flags, 0);
    head.writeUInt32BE(length, 1);
    return Buffer.concat([head, Buffer.from(text)]);
  };
  const CASES: readonly (readonly [string, Uint8Array])[] = [
    ["nothing", Buffer.alloc(0)],
    ["half a head", Buffer.from([0, 0])],
    ["a length that is longer", frame(0, 4_000_000_000, "{}")],
    ["a length that is shorter", frame(0, 1, "{}")],
    ["a compressed one", frame(1, 2, "{}")],
    ["no JSON", frame(0, 3, "{a}")],
    ["not what is asked for", frame(0, 2, "[]")],
    ["no command", frame(0, 14, '{"process":{}}')],
  ];

  it.each(CASES)("an envelope with %s is refused in Connect's own words", async (_, body) => {
    const { status, text } = await inside(
      "/process.Process/Start",
      { "content-type": "application/connect+json" },
      body,
    );
    expect(status).toBe(200);
    expect(text.charCodeAt(0)).toBe(2);
    expect(JSON.parse(text.slice(5)).error.code).toBe("invalid_argument");
  });

  it("a message that is too large, of another kind, or for nobody", async () => {
    const json = { "content-type": "application/json" };
    const large = await inside("/process.Process/SendInput", json, Buffer.alloc(17 << 20, 0x20));
    expect(large).toMatchObject({ status: 429, json: { code: "resource_exhausted" } });
    const stream = { "content-type": "application/connect+json" };
    const frames = await inside("/process.Process/Start", stream, frame(0, 17 << 20, " ".repeat(17 << 20)));
    expect(frames).toMatchObject({ status: 200 });
    expect(JSON.parse(frames.text.slice(5)).error.code).toBe("resource_exhausted");
    expect((await inside("/process.Process/List", { "content-type": "application/proto" }, "x")).status).toBe(
      415,
    );
    expect((await inside("/process.Process/Nothing", json, "{}")).status).toBe(404);
    expect((await inside("/init", json, "{}")).status).toBe(404);
    const nobody = { process: { pid: 999_999 }, signal: "SIGNAL_SIGKILL" };
    expect((await inside("/process.Process/SendSignal", json, JSON.stringify(nobody))).json.code).toBe(
      "not_found",
    );
  });

  it("input in a stream reaches its process, and one that is broken says why", async () => {
    const cat = await sandbox.commands.run("cat", { background: true, stdin: true });
    const message = (value: object) => {
      const text = JSON.stringify(value);
      return frame(0, Buffer.byteLength(text), text);
    };
    const start = message({ start: { process: { pid: cat.pid } } });
    const data = message({ data: { input: { stdin: Buffer.from("fed\n").toString("base64") } } });
    const feed = async (...frames: Buffer[]) => {
      const type = { "content-type": "application/connect+json" };
      const { text } = await inside("/process.Process/StreamInput", type, Buffer.concat(frames));
      const at = text.lastIndexOf("\u0002\u0000");
      return JSON.parse(text.slice(at + 5)).error?.code;
    };
    expect(await feed(start, data, message({ keepalive: {} }), data)).toBeUndefined();
    await cat.closeStdin();
    expect((await cat.wait()).stdout).toBe("fed\nfed\n");
    const deaf = await sandbox.commands.run("sleep 600", { background: true });
    const toDeaf = message({ start: { process: { pid: deaf.pid } } });
    expect(await feed(toDeaf, data)).toBe("invalid_argument");
    expect(await feed(toDeaf, message({ data: { input: { pty: "eA==" } } }))).toBe("invalid_argument");
    expect(await feed(toDeaf), "control: it can be named").toBeUndefined();
    expect(await deaf.kill()).toBe(true);
    expect(await feed(data)).toBe("invalid_argument");
    expect(await feed(start.subarray(0, 9))).toBe("invalid_argument");
    expect(await feed(frame(0, 4_000_000_000, "{}"))).toBe("resource_exhausted");
    expect(await feed(start)).toBe("not_found");
  });

  it("streams of a sandbox that is killed under them all end", async () => {
    const own = await Sandbox.create("base", optionsOf(tenants.ownerKey));
    await own.commands.run("head -c 200000000 /dev/zero > large");
    const core = tenants.gateway.core;
    const access = await core.openAccess(await core.authenticate(tenants.ownerKey), own.sandboxId);
    const headers = { "e2b-sandbox-id": own.sandboxId, "x-access-token": access };
    const streamed = { ...headers, "content-type": "application/connect+json" };
    const message = (value: object) => {
      const text = JSON.stringify(value);
      return frame(0, Buffer.byteLength(text), text);
    };
    const sleep = { process: { cmd: "/bin/sleep", args: ["600"] } };
    const post = (path: string, more: Record<string, string>, body: BodyInit) =>
      fetch(`${url}${path}`, { method: "POST", headers: more, body });
    const answers = await Promise.all([
      post("/process.Process/Start", streamed, message(sleep)),
      post("/filesystem.Filesystem/WatchDir", streamed, message({ path: "/home/user" })),
      post(
        "/execute",
        { ...headers, "e2b-sandbox-port": "49999", "content-type": "application/json" },
        JSON.stringify({ code: "import time; time.sleep(600)" }),
      ),
      fetch(`${url}/files?path=large`, { headers }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await own.kill();
    // Cut off or ended: nobody waits for what is gone.
    const ends = await Promise.allSettled(answers.map((answer) => answer.arrayBuffer()));
    expect(ends).toHaveLength(4);
    expect(ends[3]?.status).toBe("rejected");
    const again = await ask("/process.Process/List", {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: "{}",
    });
    expect(again.json).toEqual({ sandboxId: own.sandboxId, message: "The sandbox was not found", code: 502 });
  });

  it("users and names that are none", async () => {
    const authorization = `Basic ${Buffer.from("../root:").toString("base64")}`;
    const json = { "content-type": "application/json" };
    const stranger = await inside("/filesystem.Filesystem/Stat", { ...json, authorization }, '{"path":"/"}');
    expect(stranger).toMatchObject({
      status: 401,
      json: { code: "unauthenticated", message: "invalid username: '../root'" },
    });
    const path = "x".repeat(5_000);
    expect((await inside("/filesystem.Filesystem/Stat", json, JSON.stringify({ path }))).status).toBe(400);
    expect((await inside("/filesystem.Filesystem/Stat", json, '{"path":"/a\\u0000b"}')).status).toBe(400);
    const outside = await inside("/files?path=../../../../etc/shadow", {});
    expect(outside.status).toBe(404);
    const ghost = { "e2b-sandbox-id": "../../etc", "x-access-token": token };
    expect((await inside("/health", ghost)).status).toBe(401);
  });

  it("unknown users and odd names at /files, in E2B's own bodies, and honest odd ones as they are", async () => {
    const nobody = { status: 401, json: { code: 401, message: expect.stringContaining("nobody-here") } };
    const octets = { "content-type": "application/octet-stream" };
    const authorization = `Basic ${Buffer.from("nobody-here:").toString("base64")}`;
    expect(await inside("/files?path=a&username=nobody-here", {})).toMatchObject(nobody);
    expect(await inside("/files?path=a", { authorization })).toMatchObject(nobody);
    expect(await inside("/files?path=a&username=nobody-here", octets, "x")).toMatchObject(nobody);
    for (const path of ["a%00b", "x".repeat(5_000), encodeURIComponent("ü".repeat(200))]) {
      const bad = { status: 400, json: { code: 400, message: expect.any(String) } };
      expect(await inside(`/files?path=${path}`, octets, "x"), path.slice(0, 20)).toMatchObject(bad);
    }
    expect(await inside("/files?path=nowhere", {})).toMatchObject({
      status: 404,
      json: { code: 404, message: expect.stringContaining("nowhere") },
    });
    for (const path of ["two\nlines", "-rf", "größer 100%", "a;b 'c' \"d\"", "\u{1f600}"]) {
      expect((await inside(`/files?path=${encodeURIComponent(path)}`, octets, path)).status, path).toBe(200);
      expect(await sandbox.files.read(path), path).toBe(path);
      await sandbox.files.remove(path);
    }
  });

  it("signatures that are expired, another's, or of another kind", async () => {
    await sandbox.files.write("signed", "content");
    const good = new URL(await sandbox.downloadUrl("signed", { useSignatureExpiration: 600 }));
    expect(await (await fetch(good)).text(), "control").toBe("content");
    const told = async (address: URL, method = "GET") => {
      const answer = await fetch(address, { method, ...(method === "POST" && { body: "x" }) });
      return { status: answer.status, json: await answer.json() };
    };
    const invalid = { status: 401, json: { code: 401, message: "invalid signature" } };
    const expired = await sandbox.downloadUrl("signed", { useSignatureExpiration: -1 });
    const late = { code: 401, message: "signature is already expired" };
    expect(await told(new URL(expired))).toEqual({ status: 401, json: late });
    expect(await told(good, "POST")).toEqual(invalid);
    for (const [name, value] of [
      ["path", "/etc/passwd"],
      ["username", "root"],
      ["signature_expiration", "99999999999"],
      ["signature", "v1_"],
      ["signature", `${good.searchParams.get("signature")}x`],
    ] as const) {
      const changed = new URL(good);
      changed.searchParams.set(name, value);
      expect(await told(changed), name).toEqual(invalid);
    }
    const theirs = await fetch(good, { headers: { "e2b-sandbox-id": other.sandboxId } });
    expect({ status: theirs.status, json: await theirs.json() }, "another sandbox").toEqual(invalid);
  });

  it("methods that are not a path's, a body that is none, and a time that is none", async () => {
    const json = { "content-type": "application/json" };
    expect(await inside("/process.Process/List", {})).toMatchObject({ status: 405, text: "" });
    expect(await inside("/health", json, "{}")).toMatchObject({ status: 405 });
    expect(await inside("/process.Process/List", json, "")).toMatchObject({
      status: 400,
      json: { code: "invalid_argument" },
    });
    expect((await inside("/process.Process/List", json, "{}")).status, "control").toBe(200);
    const text = JSON.stringify({ process: { cmd: "/bin/true" } });
    const message = new Uint8Array([0, 0, 0, 0, text.length, ...new TextEncoder().encode(text)]);
    const stream = { "content-type": "application/connect+json" };
    const late = await inside("/process.Process/Start", { ...stream, "connect-timeout-ms": "soon" }, message);
    expect(late.text).toContain("invalid_argument");
    expect((await inside("/process.Process/Start", stream, message)).text, "control").toContain(
      "exit status 0",
    );
  });

  it("forms that are cut off, without names, or without end", async () => {
    const form = { "content-type": "multipart/form-data; boundary=b" };
    const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="cut"\r\n\r\n';
    expect((await inside("/files?path=cut", form, `${head}only half`)).status).toBe(400);
    expect(await sandbox.files.exists("cut")).toBe(false);
    expect((await inside("/files", form, "--b\r\n\r\nx\r\n--b--")).status).toBe(400);
    expect((await inside("/files", form, `--b\r\n${"x".repeat(40_000)}`)).status).toBe(400);
    expect((await inside("/files?path=a", { "content-type": "text/plain" }, "x")).status).toBe(400);
    const zipped = { "content-type": "application/octet-stream", "content-encoding": "gzip" };
    expect((await inside("/files?path=a", zipped, "not gzip")).status).toBeGreaterThanOrEqual(400);
    expect(await sandbox.files.exists("a")).toBe(false);
  });

  it("creates that ask for what is not there", async () => {
    const create = (body: object) =>
      ask("/v2/sandboxes", {
        method: "POST",
        headers: { "x-api-key": tenants.ownerKey, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    for (const body of [
      {},
      { templateID: "base", timeout: -1 },
      { templateID: "base", timeout: 90_000 },
      { templateID: "base", metadata: { "e2b.template": "mine" } },
      { templateID: "base", volumeMounts: [{ name: "a", path: 7 }] },
      ...[{ Host: "elsewhere" }, { "Content-Length": "3" }, { A: "b\r\nC: d" }, { A: "${e2b.other}" }].map(
        (headers) => ({ templateID: "base", network: { rules: { "a.test": [{ transform: { headers } }] } } }),
      ),
      { templateID: "base", iam: { tokens: {} } },
      ...["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "1.1.1.0/24", "1.1.1.1/0"].map((place) => ({
        templateID: "base",
        network: { allowOut: [place] },
      })),
      ...["8.8.8.8", "evil.test", "0.0.0.0/0"].map((place) => ({
        templateID: "base",
        network: { allowOut: ["0.0.0.0/0"], denyOut: [place] },
      })),
      { templateID: "base", network: { egressProxy: { address: "a:1" } } },
    ]) {
      const { status, json } = await create(body);
      expect({ status, code: json.code }).toEqual({ status: 400, code: 400 });
    }
    expect((await create({ templateID: "../../x" })).status).toBe(404);
    const volumeMounts = [{ name: "nobody's", path: "/a" }];
    expect((await create({ templateID: "base", volumeMounts })).status).toBe(404);
    const text = await ask("/v2/sandboxes", {
      method: "POST",
      headers: { "x-api-key": tenants.ownerKey },
      body: "{",
    });
    expect(text.json.code).toBe(400);
  });
});
