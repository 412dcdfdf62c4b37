import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type FalseRegistry, type Meddle, startFalseRegistry } from "./false-registry.ts";
import { makeImage } from "./image-maker.ts";
import { type Lab, openLab } from "./lab.ts";
import { LOGIN } from "./registry.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const image = makeImage({
  layers: [[{ name: "a", content: "x".repeat(50_000) }]],
  list: true,
  compression: "none",
});
const other = makeImage({ layers: [[{ name: "b", content: "y".repeat(50_000) }]], compression: "none" });
const foreign = makeImage({ layers: [[{ name: "a" }]], list: true, architecture: "pdp11" });
const [layer] = image.layers;

const status =
  (code: number): Meddle =>
  (_, response) => {
    response.writeHead(code, { "content-type": "application/json" }).end("{}");
    return true;
  };
/** Only where the path has this in it. */
const where =
  (part: string, meddle: Meddle): Meddle =>
  (request, response) =>
    (request.url ?? "").includes(part) && meddle(request, response);
const bytes =
  (body: Buffer, length = body.length): Meddle =>
  (_, response) => {
    response.writeHead(200, { "content-length": length });
    response.write(body, () => (length > body.length ? response.destroy() : response.end()));
    return true;
  };
const away =
  (location: (path: string) => string): Meddle =>
  (request, response) => {
    response.writeHead(307, { location: location(request.url ?? "") }).end();
    return true;
  };
const layerOf = (of: typeof image) => of.blobs.get(of.layers[0]?.digest ?? "") ?? Buffer.alloc(0);

const CASES: [string, string, Meddle][] = [
  ["401", "policy_denied", status(401)],
  ["403 for a layer", "policy_denied", where("/blobs/", status(403))],
  ["404", "not_found", status(404)],
  ["429", "rate_limited", status(429)],
  ["500", "extension_unavailable", status(500)],
  ["a connection that is cut", "extension_unavailable", (_, response) => Boolean(response.destroy())],
  [
    "a layer that is cut off",
    "extension_failed",
    where(layer?.digest ?? "", bytes(layerOf(image).subarray(0, 9_000), layerOf(image).length)),
  ],
  [
    "a layer that ends early",
    "extension_failed",
    where(layer?.digest ?? "", bytes(layerOf(image).subarray(0, 9_000))),
  ],
  ["a layer that is another", "extension_failed", where(layer?.digest ?? "", bytes(layerOf(other)))],
  [
    "a layer that is longer",
    "extension_failed",
    where(layer?.digest ?? "", bytes(Buffer.concat([layerOf(image), Buffer.alloc(1 << 20)]))),
  ],
  [
    "a manifest that is another",
    "extension_failed",
    where(image.digest, bytes(other.manifests[0]?.bytes ?? Buffer.alloc(0))),
  ],
  ["a manifest that is huge", "extension_failed", where("/manifests/", bytes(Buffer.alloc(6 << 20, " ")))],
  ["a manifest that is none", "invalid_request", where("/manifests/", bytes(Buffer.from("<html>")))],
  [
    "a manifest of something else",
    "invalid_request",
    where("/manifests/", bytes(Buffer.from('{"schemaVersion":1}'))),
  ],
  [
    "a list for other machines",
    "invalid_request",
    where("/manifests/", bytes(foreign.manifests[1]?.bytes ?? Buffer.alloc(0))),
  ],
  ["a configuration that is another", "extension_failed", where("/blobs/", bytes(other.config))],
  ["circles", "extension_failed", away((path) => path)],
  ["circles with more to it", "extension_failed", away((path) => `${path}?`)],
  ["a way to a file", "extension_failed", away(() => "file:///etc/passwd")],
  [
    "a token of nobody",
    "extension_failed",
    (_, response) => Boolean(response.writeHead(401, { "www-authenticate": 'Bearer realm="nowhere"' }).end()),
  ],
];

describe("what registries can do", () => {
  let lab: Lab;
  let registry: FalseRegistry;
  let elsewhere: FalseRegistry;
  /** Nobody has named this one: it stands for anything this machine can reach. */
  let inside: FalseRegistry;
  let ref: string;
  let folder: string;

  beforeAll(async () => {
    [registry, elsewhere, inside] = await Promise.all([
      startFalseRegistry(image),
      startFalseRegistry(image),
      startFalseRegistry(image),
    ]);
    ref = `${registry.host}/tools:1`;
    const login = Buffer.from(`${LOGIN.username}:${LOGIN.password}`).toString("base64");
    folder = await mkdtemp(join(tmpdir(), "sandboxer-login-"));
    const credentials = join(folder, "config.json");
    await writeFile(credentials, JSON.stringify({ auths: { [registry.host]: { auth: login } } }));
    lab = await openLab({ registries: [registry.host, elsewhere.host], credentials });
  });
  beforeEach(() => {
    registry.meddle = () => false;
    registry.asked.length = 0;
    elsewhere.asked.length = 0;
    inside.asked.length = 0;
  });
  afterAll(async () => {
    await lab?.close();
    await rm(folder, { recursive: true, force: true });
    await Promise.all([registry?.close(), elsewhere?.close(), inside?.close()]);
  });

  it.each(CASES)("%s is %s, and nothing is kept", async (_, code, meddle) => {
    registry.meddle = meddle;
    const failure = await lab.images.pull(ref, {}).catch((error) => error);
    expect(failure).toMatchObject({ code, hint: expect.stringMatching(/./) });
    expect(JSON.stringify(failure)).not.toContain(LOGIN.password);
    expect(await lab.left()).toEqual([]);
  });

  it("control: the same image comes where nobody meddles, and after a while where somebody did", async () => {
    let count = 0;
    registry.meddle = where(
      "/blobs/",
      (request, response) => ++count === 1 && status(500)(request, response),
    );
    expect((await lab.images.pull(ref, {})).digest).toBe(image.digest);
    await lab.images.remove(ref);
    expect(await lab.left()).toEqual([]);
  });

  it("sends credentials to who asks for them, and never along to another place", async () => {
    registry.meddle = (request, response) => {
      if (request.headers.authorization === undefined) {
        response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end();
        return true;
      }
      return where(
        "/blobs/",
        away((path) => `http://${elsewhere.host}${path}`),
      )(request, response);
    };
    await lab.images.pull(ref, {});
    expect(elsewhere.asked.length).toBeGreaterThan(1);
    expect(elsewhere.asked.every(({ authorization }) => authorization === undefined)).toBe(true);
    expect(registry.asked.some(({ authorization }) => authorization?.startsWith("Basic "))).toBe(true);
    await lab.images.remove(ref);
  });

  const portOf = (host: string) => host.split(":").at(-1);
  it.each([
    [
      "a layer",
      (to: string) =>
        where(
          "/blobs/",
          away((path) => `http://${to}${path}`),
        ),
    ],
    [
      "a manifest",
      (to: string) =>
        where(
          "/manifests/",
          away((path) => `http://${to}${path}`),
        ),
    ],
    [
      "a token",
      (to: string): Meddle =>
        (_, response) =>
          Boolean(response.writeHead(401, { "www-authenticate": `Bearer realm="http://${to}/token"` }).end()),
    ],
  ])("EG-15 leads nobody inside with the way to %s", async (_, lead) => {
    const spellings = [
      inside.host,
      "localhost",
      "127.1",
      "2130706433",
      "0x7f.1",
      "[::1]",
      "[::ffff:127.0.0.1]",
    ];
    for (const spelling of spellings) {
      const to = spelling === inside.host ? spelling : `${spelling}:${portOf(inside.host)}`;
      registry.meddle = lead(to);
      const failure = await lab.images.pull(ref, {}).catch((error) => error);
      expect({ to, code: failure?.code }).toEqual({ to, code: "policy_denied" });
    }
    registry.meddle = lead("169.254.169.254");
    await expect(lab.images.pull(ref, {})).rejects.toMatchObject({ code: "policy_denied" });
    expect(inside.asked).toEqual([]);
    expect(await lab.left()).toEqual([]);
    // Control: the same way to somebody who is named.
    registry.meddle = lead(elsewhere.host);
    await lab.images.pull(ref, {}).catch(() => {});
    expect(elsewhere.asked.length).toBeGreaterThan(0);
    await lab.images.remove(ref).catch(() => {});
  });

  it("gets a token where one is asked for, and shows it with every request", async () => {
    registry.meddle = (request, response) => {
      const { authorization } = request.headers;
      if (request.url?.startsWith("/token?")) {
        const isKnown =
          authorization?.startsWith("Basic ") && request.url.includes("scope=repository%3Atools%3Apull");
        response.writeHead(isKnown ? 200 : 403).end(JSON.stringify({ token: "tok" }));
        return true;
      }
      if (authorization === "Bearer tok") return false;
      const realm = `Bearer realm="http://${registry.host}/token",service="s",scope="repository:tools:pull"`;
      response.writeHead(401, { "www-authenticate": realm }).end();
      return true;
    };
    expect((await lab.images.pull(ref, {})).digest).toBe(image.digest);
    await lab.images.remove(ref);
    expect(await lab.left()).toEqual([]);
  });
});
