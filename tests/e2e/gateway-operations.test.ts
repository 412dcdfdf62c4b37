import { execFile } from "node:child_process";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createClient } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf, end, firstLine } from "./cli-process.ts";

const { describe, given } = await requires("linux-userns", "boxd", "openssl");

vi.setConfig({ testTimeout: 120_000 });

/** The gateway as an operator runs it: a process, a configuration, a log, figures. */
describe("a gateway in operation", () => {
  let home: string;
  const start = async (args: string[] = [], config = "") => {
    await writeFile(join(home, "config.yaml"), config);
    const child = cliOf(home).start([
      "up",
      "--port",
      "0",
      "--json",
      "--log-file",
      join(home, "log"),
      ...args,
    ]);
    const { url, apiKey } = JSON.parse(await firstLine(child)) as { url: string; apiKey: string };
    return { url, apiKey, client: createClient({ url, apiKey }), stop: () => end(child, "SIGTERM") };
  };

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-operations-"));
  });
  afterAll(() => removeEngine(join(home, "engine"), home));

  it("RE-11 goes on when its log has no room, and answers as ever", async () => {
    const { client, stop } = await start(["--log-file", "/dev/full"]);
    try {
      const sandbox = await client.sandboxes.create({ ttlMs: 60_000 });
      expect((await sandbox.run(["echo", "on"])).exit).toEqual({ kind: "exited", code: 0 });
      await sandbox.destroy();
      expect(await client.events.verify()).not.toHaveProperty("brokenSeq");
    } finally {
      expect(await stop()).toBe(0);
    }
  });

  it("limits each key, and says when to come again", async () => {
    const { url, apiKey, client, stop } = await start([], "limits: { requestsPerSecond: 5, concurrent: 3 }");
    try {
      const other = await client.keys.create({ name: "other" });
      const ask = (key: string) => fetch(`${url}/v1/whoami`, { headers: { authorization: `Bearer ${key}` } });
      const answers = await Promise.all(Array.from({ length: 30 }, () => ask(apiKey)));
      const refused = answers.find(({ status }) => status === 429);
      expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      expect(await refused?.json()).toMatchObject({
        error: { code: "rate_limited", hint: expect.any(String) },
      });
      expect((await ask(other.apiKey)).status, "each for itself").toBe(200);
      expect((await fetch(`${url}/health`)).status, "what needs no key has no limit").toBe(200);
    } finally {
      expect(await stop()).toBe(0);
    }
  });

  it("limits who asks without a key whether a sandbox runs, and charges its maker's with none of it", async () => {
    const { url, apiKey, stop } = await start([], "limits: { requestsPerSecond: 5 }");
    const byKey = { "x-api-key": apiKey, "content-type": "application/json" };
    try {
      const body = JSON.stringify({ templateID: "base" });
      const made = await fetch(`${url}/v2/sandboxes`, { method: "POST", headers: byKey, body });
      const { sandboxID } = (await made.json()) as { sandboxID: string };
      const health = () => fetch(`${url}/health`, { headers: { "e2b-sandbox-id": sandboxID } });
      const answers = await Promise.all(Array.from({ length: 30 }, health));
      expect(answers.map(({ status }) => status)).toContain(429);
      const gone = await fetch(`${url}/sandboxes/${sandboxID}`, { method: "DELETE", headers: byKey });
      expect(gone.status).toBe(204);
    } finally {
      expect(await stop()).toBe(0);
    }
  });

  it("limits what a key asks over time, though it asks one thing at a time", async () => {
    const { url, apiKey, client, stop } = await start([], "limits: { requestsPerSecond: 0.5 }");
    try {
      const other = await client.keys.create({ name: "other" });
      const ask = async (key: string) => {
        const answer = await fetch(`${url}/v1/whoami`, { headers: { authorization: `Bearer ${key}` } });
        return { status: answer.status, text: await answer.text() };
      };
      const tooOften = { status: 429, text: expect.stringContaining("requests a second of one key") };
      await expect.poll(() => ask(apiKey), { timeout: 30_000 }).toMatchObject(tooOften);
      expect((await ask(other.apiKey)).status, "each for itself").toBe(200);
    } finally {
      expect(await stop()).toBe(0);
    }
  });

  it("takes its first root key from the environment, and never prints it to be read", async () => {
    const key = `e2b_${"5eed".repeat(8)}`;
    const unattended = join(home, "unattended");
    const cli = cliOf(unattended, { SANDBOXER_API_KEY: key });
    const forPrograms = cli.start(["up", "--port", "0", "--json"]);
    onTestFinished(() => void forPrograms.kill("SIGKILL"));
    const { url, apiKey } = JSON.parse(await firstLine(forPrograms)) as { url: string; apiKey: string };
    expect(apiKey).toBe(key);
    const figures = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } });
    expect(figures.status, "for the root key alone").toBe(200);
    await expect(readFile(join(unattended, "root.key"), "utf8"), "it is the environment's").rejects.toThrow();
    expect((await cliOf(unattended).run(["ls"])).stderr).toContain("Set SANDBOXER_API_KEY");
    expect(await end(forPrograms, "SIGTERM")).toBe(0);

    const forPeople = cli.start(["up", "--port", "0"]);
    onTestFinished(() => void forPeople.kill("SIGKILL"));
    let said = "";
    forPeople.stdout?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    await expect.poll(() => said, { timeout: 60_000 }).toContain("Ctrl-C ends the gateway.");
    expect(said).toContain("The key is the one in SANDBOXER_API_KEY\n");
    expect(said).not.toContain(key);
    expect(await end(forPeople, "SIGTERM")).toBe(0);

    const short = cliOf(unattended, { SANDBOXER_API_KEY: "short" });
    expect(await short.run(["up", "--port", "0"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("at least 20 visible characters"),
    });
  });

  it("counts streams until they end", async () => {
    const { url, apiKey, stop } = await start([], "limits: { concurrent: 2 }");
    try {
      const follow = () => fetch(`${url}/v1/events`, { headers: { authorization: `Bearer ${apiKey}` } });
      const streams = [await follow(), await follow()];
      const third = await follow();
      expect(third.status).toBe(429);
      await third.text();
      await streams[0]?.body?.cancel();
      await expect
        .poll(async () => {
          const answer = await follow();
          streams.push(answer);
          return answer.status;
        })
        .toBe(200);
      for (const { body } of streams) await body?.cancel().catch(() => {});
    } finally {
      await stop();
    }
  });

  it("counts none whose client left before its answer began", async () => {
    const { url, apiKey, client, stop } = await start([], "limits: { concurrent: 2 }");
    try {
      const sandbox = await client.sandboxes.create({ ttlMs: 600_000 });
      const { host, hostname, port } = new URL(url);
      const body = JSON.stringify({ argv: ["sleep", "500"] });
      const begun = async (count: number) =>
        expect.poll(async () => (await sandbox.processes()).length).toBe(count);
      for (let count = 1; count <= 2; count += 1) {
        const leaving = connect(Number(port), hostname);
        const head = `POST /v1/sandboxes/${sandbox.id}/exec HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${apiKey}`;
        const words = `${head}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
        await new Promise((resolve) => leaving.write(words, resolve));
        leaving.resetAndDestroy();
        await begun(count);
      }
      expect(await client.whoami()).toMatchObject({ keyId: expect.any(String) });
      await sandbox.destroy();
    } finally {
      await stop();
    }
  });

  it("shows its figures to the root key alone", async () => {
    const { url, apiKey, client, stop } = await start();
    try {
      const sandbox = await client.sandboxes.create({ ttlMs: 60_000 });
      const figures = async (key: string) =>
        fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } });
      const shown = async () => (await figures(apiKey)).text();
      await expect.poll(shown).toMatch(/^sandboxer_sandboxes\{state="running"\} [1-9]/m);
      await expect
        .poll(shown)
        .toMatch(/^sandboxer_requests_total\{method="POST",route="\/v1\/sandboxes",status="201"\} 1$/m);
      expect(await shown()).toMatch(/^process_resident_memory_bytes \d+$/m);
      expect((await figures((await client.keys.create({})).apiKey)).status).toBe(403);
      expect((await fetch(`${url}/metrics`)).status).toBe(401);
      await sandbox.destroy();
    } finally {
      await stop();
    }
    const log = (await readFile(join(home, "log"), "utf8"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(log.find(({ path }) => path === "/metrics")).toMatchObject({
      requestId: expect.stringMatching(/^req_/),
    });
  });

  it("speaks TLS, and to strangers nothing else", async () => {
    const [cert, key] = [join(home, "cert.pem"), join(home, "key.pem")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    const make = [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-days",
      "2",
    ];
    await promisify(execFile)(given.openssl.path, [...make, ...subject, "-keyout", key, "-out", cert]);
    const refused = await cliOf(home).run(["up", "--port", "0", "--host", "0.0.0.0"]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("--tls-cert") });
    const { url, stop } = await start(["--host", "127.0.0.2", "--tls-cert", cert, "--tls-key", key]);
    try {
      expect(url).toMatch(/^https:\/\/127\.0\.0\.2:/);
      const { hostname, port } = new URL(url);
      const ca = await readFile(cert);
      const status = await new Promise((resolve, reject) => {
        const options = { hostname, port, path: "/health", ca, checkServerIdentity: () => undefined };
        request(options, (answer) => resolve(answer.resume().statusCode))
          .on("error", reject)
          .end();
      });
      expect(status).toBe(200);
      await expect(fetch(url.replace("https", "http"))).rejects.toThrow();
    } finally {
      await stop();
    }
  });

  it("refuses a configuration that it does not understand", async () => {
    await writeFile(join(home, "config.yaml"), "limts: {}");
    for (const args of [
      ["up", "--port", "0"],
      ["run", "--", "true"],
    ]) {
      expect(await cliOf(home).run(args)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("limts"),
      });
    }
    await writeFile(join(home, "config.yaml"), "");
  });
});
