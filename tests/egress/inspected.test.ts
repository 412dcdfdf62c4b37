import { execFileSync } from "node:child_process";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

/** On the way to the world, and nobody is there. */
const NOBODY = "93.184.99.99";

/** Without a word about certificates: the sandbox trusts its own authority. */
const curl = (sandbox: Sandbox, ...args: string[]) =>
  sandbox.run(["curl", "--silent", "--show-error", "--max-time", "60", ...args], { timeoutMs: 90_000 });

describe("requests that are read", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of ["api.allowed.test", "selfsigned.bad.test", "wrongname.bad.test"]) {
      await bench.lab.name(name, [WORLD]);
    }
    for (const name of ["expired.bad.test", "old.bad.test"]) await bench.lab.name(name, [WORLD]);
    await bench.lab.name("second.allowed.test", [NOBODY], [NOBODY, WORLD]);
    sandbox = await bench.sandbox({
      rules: [
        { host: "second.allowed.test", access: "read-only" },
        { host: "api.allowed.test", methods: ["GET", "POST"], paths: ["/v1/**", "/echo", "/ws"] },
        { host: "api.allowed.test", protocol: "http", access: "read-only" },
        { host: "*.bad.test", access: "read-only", ports: [443, 8445] },
      ],
    });
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const requests = async () => (await bench.lab.look()).records.filter(({ kind }) => kind === "request");

  it("reach an allowed path through TLS that the sandbox trusts", async () => {
    const { exit, stdout, stderr } = await curl(sandbox, "https://api.allowed.test/v1/x?q=1");
    expect({ exit, stderr: text(stderr) }).toEqual({ exit: { kind: "exited", code: 0 }, stderr: "" });
    expect(text(stdout)).toBe("hello from api.allowed.test\n");
    expect((await requests()).map(({ what }) => what)).toEqual(["GET /v1/x?q=1"]);
    const place = { host: "api.allowed.test", method: "GET", path: "/v1/x" };
    await expect
      .poll(async () => (await sandbox.networkCalls()).calls.at(-1))
      .toMatchObject({ ...place, verdict: "allowed", status: 200 });
  });

  it("go to the next address of a name where the first does not answer, and to no other", async () => {
    const ask = () =>
      curl(sandbox, "-o", "/dev/null", "-w", "%{http_code}", "https://second.allowed.test/here");
    expect(text((await ask()).stdout), "control: the first alone").not.toBe("200");
    expect(await requests()).toEqual([]);
    expect(text((await ask()).stdout)).toBe("200");
    expect((await requests()).map(({ what }) => what)).toEqual(["GET /here"]);
  });

  it("carry a body, with a length and without one", async () => {
    const data = "x".repeat(200_000);
    await sandbox.files.write("/home/user/body", [new TextEncoder().encode(data)]);
    await curl(sandbox, "--data-binary", "@/home/user/body", "https://api.allowed.test/v1/up");
    const chunked = ["-H", "Transfer-Encoding: chunked", "--data-binary", "@/home/user/body"];
    await curl(sandbox, ...chunked, "https://api.allowed.test/v1/up");
    expect((await requests()).map(({ body }) => body?.length)).toEqual([200_000, 200_000]);
  });

  it.each(["length", "pieces"])("break off with an answer that breaks off, by its %s", async (how) => {
    const url = `https://api.allowed.test/v1/cut/${how}`;
    const { exit, stdout } = await curl(sandbox, url);
    expect(text(stdout), "and nothing is taken for the rest of it").toBe("the first half");
    expect(exit, "half of one is not passed for a whole one").not.toMatchObject({ code: 0 });
    await expect
      .poll(async () => (await sandbox.networkCalls()).calls.at(-1))
      .toMatchObject({ path: `/v1/cut/${how}`, verdict: "failed" });
  });

  it("EG-14 are judged one by one on a connection that is kept", async () => {
    const url = "https://api.allowed.test";
    const both = await curl(
      sandbox,
      "-o",
      "/dev/null",
      "-w",
      "%{http_code} ",
      `${url}/v1/a`,
      "-o",
      "/dev/null",
      `${url}/v2/b`,
    );
    expect(text(both.stdout)).toBe("200 403 ");
    expect((await requests()).map(({ what }) => what)).toEqual(["GET /v1/a"]);
  });

  it("EG-19 are held to every method that they name", async () => {
    const url = "https://api.allowed.test/v1/x";
    const code = async (...headers: string[]) =>
      text(
        (
          await curl(
            sandbox,
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            ...headers.flatMap((one) => ["-H", one]),
            url,
          )
        ).stdout,
      );
    for (const name of ["X-HTTP-Method-Override", "x-http-method", "X-Method-Override"]) {
      for (const method of ["DELETE", "delete"]) expect(await code(`${name}: ${method}`), name).toBe("403");
      expect(await code(`${name}: POST`, `${name}: PATCH`), "the second of two").toBe("403");
      expect(await code(`${name}: DEL ETE`), "what is none").toBe("400");
    }
    expect(await requests()).toEqual([]);
    expect(await code("X-HTTP-Method-Override: POST"), "control: one that a rule allows").toBe("200");
    expect((await requests()).map(({ what }) => what)).toEqual(["GET /v1/x"]);
  });

  it("EG-11 never reach a server that is not who it should be", async () => {
    for (const name of ["selfsigned", "wrongname", "expired"]) {
      const { stdout } = await curl(
        sandbox,
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        `https://${name}.bad.test/`,
      );
      expect({ name, code: text(stdout) }).toEqual({ name, code: "502" });
    }
    const old = await curl(sandbox, "-o", "/dev/null", "-w", "%{http_code}", "https://old.bad.test:8445/");
    expect(text(old.stdout), "TLS 1.1 at most").toBe("502");
    expect(await requests()).toEqual([]);
    const failed = async () =>
      (await sandbox.networkCalls()).calls.flatMap(({ host = "", verdict, reason = "" }) =>
        host.endsWith(".bad.test") ? [`${host} ${verdict} ${reason.split(":")[0]}`] : [],
      );
    const untrusted = "failed the host cannot be trusted or reached";
    await expect
      .poll(failed, { timeout: 30_000 })
      .toEqual(["selfsigned", "wrongname", "expired", "old"].map((name) => `${name}.bad.test ${untrusted}`));
    // Control: all of them are there to be spoken to, by whoever does not look.
    const [command = "", ...rest] = bench.lab.beside;
    const beside = (...args: string[]) => execFileSync(command, [...rest, "curl", "-sk", ...args]);
    for (const name of ["selfsigned", "wrongname", "expired"]) {
      beside("--resolve", `${name}.bad.test:443:127.0.0.1`, `https://${name}.bad.test/${name}`);
    }
    const ancient = ["--tls-max", "1.0", "--ciphers", "DEFAULT:@SECLEVEL=0", "--tlsv1.0"];
    beside(...ancient, "https://127.0.0.1:8445/old");
    expect((await requests()).map(({ what }) => what)).toEqual([
      ...["GET /selfsigned", "GET /wrongname", "GET /expired", "GET /old"],
    ]);
  });

  it("speak plain HTTP where a rule says so, and say why not elsewhere", async () => {
    const allowed = await curl(sandbox, "http://api.allowed.test/anything");
    expect(text(allowed.stdout)).toBe("hello from api.allowed.test\n");
    const denied = await curl(sandbox, "-w", " %{http_code}", "http://evil.test/secret");
    expect(text(denied.stdout)).toContain("no rule allows GET evil.test:80/secret");
    expect(text(denied.stdout)).toContain("403");
    expect((await requests()).map(({ what }) => what)).toEqual(["GET /anything"]);
  });

  it("EG-16 open a WebSocket where a rule allows its path, and nowhere else", async () => {
    // A socket stays open, and `curl` shows nothing before its end: the first line is enough.
    const script = `
import socket, ssl, sys
plain = socket.create_connection(("api.allowed.test", 443), 60)
one = ssl.create_default_context().wrap_socket(plain, server_hostname="api.allowed.test")
lines = ["Host: api.allowed.test", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x", *sys.argv[2:]]
one.sendall("\\r\\n".join([f"GET {sys.argv[1]} HTTP/1.1", *lines, "", ""]).encode())
print(one.recv(4096).split()[1].decode())`;
    const code = async (...asked: string[]) => {
      const { stdout, stderr } = await sandbox.run(["python3", "-c", script, ...asked]);
      return text(stdout).trim() || text(stderr);
    };
    expect(await code("/ws")).toBe("101");
    expect(await code("/other")).toBe("403");
    expect(await code("/ws", "Upgrade: h2c")).toBe("400");
    expect((await requests()).map(({ what }) => what)).toEqual(["UPGRADE /ws"]);
    const unasked = await curl(sandbox, "-i", "https://api.allowed.test/v1/unasked");
    expect(text(unasked.stdout), "nor where nobody asked for one").toMatch(/^HTTP\/1\.1 502 /);
    expect((await requests()).at(-1)?.what, "control: the far side was asked").toBe("GET /v1/unasked");
  });
});
