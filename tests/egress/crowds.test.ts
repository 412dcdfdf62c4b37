import { setTimeout as sleep } from "node:timers/promises";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, converse, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 300_000 });

const NAME = "api.allowed.test";
/** What one sandbox may have open at a time. */
const MOST = 2048;

describe("EG-21 crowds, and whoever takes their time", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  let other: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    await bench.lab.name(NAME, [WORLD]);
    await bench.lab.name("away.allowed.test", ["93.184.99.99"]);
    const rules = [
      { host: NAME },
      { host: NAME, protocol: "http" as const, access: "read-only" as const },
      { host: NAME, protocol: "tcp" as const, ports: [7000] },
      { host: "away.allowed.test", protocol: "tcp" as const, ports: [7000] },
    ];
    sandbox = await bench.sandbox({ rules });
    other = await bench.sandbox({ rules });
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const python = async (from: Sandbox, script: string) => {
    const { stdout, stderr } = await from.run(["python3", "-c", script], { timeoutMs: 140_000 });
    return { out: text(stdout).trim(), err: text(stderr) };
  };
  const echo = (from: Sandbox) =>
    python(
      from,
      `
import socket
with socket.create_connection(("${NAME}", 7000), 30) as one:
    one.sendall(b"hi"); print(one.recv(2).decode())`,
    );

  it("half a greeting, half a CONNECT and half a head end by themselves, and nobody heard of them", async () => {
    const script = `
import select, socket
def begin(host, port, words):
    one = socket.create_connection((host, port), 30)
    one.sendall(words)
    return one
slow = [
    begin("${NAME}", 443, b"\\x16\\x03\\x01\\x02\\x00\\x01"),
    begin("198.18.0.1", 3128, b"CONNECT ${NAME}:443 HT"),
    begin("198.18.0.1", 1080, b"\\x05"),
    begin("${NAME}", 80, b"GET / HTTP/1.1\\r\\nHost: ${NAME}\\r\\nX: "),
]
for one in slow:
    one.settimeout(90)
    try:
        while one.recv(4096): pass
    except ConnectionResetError: pass
print("ended")`;
    expect(await python(sandbox, script)).toEqual({ out: "ended", err: "" });
    expect((await bench.lab.look()).records.filter(({ kind }) => kind === "request")).toEqual([]);
  });

  it("a host that does not answer is given up, and said so", async () => {
    const [answer] = await converse(sandbox, [
      {
        host: "198.18.0.1",
        port: 3128,
        pieces: ["CONNECT away.allowed.test:7000 HTTP/1.1\r\n\r\n", "hello"],
        wait: 60,
      },
    ]);
    expect(answer?.heard.join("")).not.toContain("hello");
    const last = async () =>
      (await sandbox.networkCalls()).calls.findLast(({ host }) => host?.startsWith("away"));
    await expect.poll(last, { timeout: 30_000 }).toMatchObject({ verdict: "failed" });
  });

  it("a head of a megabyte is refused before anybody hears of it; one of usual size is not", async () => {
    const head = (bytes: number) =>
      `GET / HTTP/1.1\r\nHost: ${NAME}\r\nX: ${"x".repeat(bytes)}\r\nConnection: close\r\n\r\n`;
    const ask = (bytes: number) => ({ host: NAME, port: 80, pieces: [head(bytes)], wait: 30, whole: true });
    const [long, usual] = await converse(sandbox, [ask(1_000_000), ask(4_000)]);
    expect(long?.heard.join("").slice(0, 12)).toMatch(/^(?:HTTP\/1\.1 400)?$/);
    expect(usual?.heard.join("")).toContain("hello from");
    const requests = (await bench.lab.look()).records.filter(({ kind }) => kind === "request");
    expect(requests).toHaveLength(1);
  });

  it("a far side whose head has no end, or comes a byte at a time, is let go of with whoever asked", async () => {
    const ask = (path: string, ...more: string[]) =>
      sandbox.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", ...more, `http://${NAME}${path}`]);
    expect(text((await ask("/long-head")).stdout)).toBe("502");
    const slow = ask("/drip", "--max-time", "10");
    await expect.poll(async () => (await bench.lab.look()).live, { timeout: 30_000 }).toBeGreaterThan(0);
    expect(await echo(other), "others have theirs meanwhile").toEqual({ out: "hi", err: "" });
    expect(text((await slow).stdout), "nothing of half a head").toBe("000");
    await expect.poll(async () => (await bench.lab.look()).live, { timeout: 30_000 }).toBe(0);
    const requests = (await bench.lab.look()).records.flatMap(({ kind, what }) =>
      kind === "request" ? what : [],
    );
    expect(requests, "control: the far side was asked").toEqual(["GET /long-head", "GET /drip"]);
    const last = async () =>
      (await sandbox.networkCalls()).calls.findLast(({ path }) => path === "/long-head");
    await expect.poll(last, { timeout: 30_000 }).toMatchObject({ verdict: "failed" });
  });

  it("one connection to the proxy that goes to many hosts keeps few of theirs", async () => {
    const hosts = Array.from({ length: 12 }, (_, at) => `n${at}.many.test`);
    for (const host of hosts) await bench.lab.name(host, [WORLD]);
    const many = await bench.sandbox({ rules: [{ host: "*.many.test", protocol: "http" }] });
    const asking = await many.exec({
      argv: [
        "python3",
        "-c",
        `
import http.client, sys
one = http.client.HTTPConnection("198.18.0.1", 3128, timeout=60)
for host in sys.argv[1:] + sys.argv[1:2]:
    one.request("GET", f"http://{host}/", headers={"Host": host}); print(one.getresponse().read().decode(), end="", flush=True)
import time; time.sleep(600)`,
        ...hosts,
      ],
    });
    let said = "";
    const reading = (async () => {
      for await (const event of asking.events) if (event.type !== "exit") said += text(event.data);
    })().catch(() => {});
    const all = [...hosts, hosts[0]].map((host) => `hello from ${host}\n`).join("");
    await expect.poll(() => said, { timeout: 60_000 }).toBe(all);
    const live = async () => (await bench.lab.look()).live;
    await expect.poll(live, { timeout: 30_000 }).toBeLessThanOrEqual(4);
    expect(await live(), "control: those that it has are seen").toBeGreaterThan(0);
    await asking.signal("KILL");
    await reading;
    await expect.poll(live, { timeout: 30_000 }).toBe(0);
  });

  it("who has said everything still hears the answer, and who has heard everything can still speak", async () => {
    const script = `
import socket
with socket.create_connection(("${NAME}", 7000), 30) as one:
    one.sendall(b"x" * 300000)
    one.shutdown(socket.SHUT_WR)
    total = 0
    while part := one.recv(65536): total += len(part)
print(total)`;
    expect(await python(sandbox, script)).toEqual({ out: "300000", err: "" });
    await expect.poll(async () => (await bench.lab.look()).live).toBe(0);
  });

  it("ten thousand sockets of one sandbox are a bounded number outside, and others have theirs", async () => {
    const flood = await sandbox.exec({
      argv: [
        "bash",
        "-c",
        `for part in $(seq 20); do python3 -c '
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
address = socket.gethostbyname("${NAME}")
ones = []
for _ in range(500):
    one = socket.socket(); one.setblocking(False); ones.append(one)
    try: one.connect((address, 7000))
    except OSError: pass
print("made", flush=True)
time.sleep(600)' & done; wait`,
      ],
    });
    let made = 0;
    const reading = (async () => {
      for await (const event of flood.events) {
        if (event.type === "stdout") made += text(event.data).split("made").length - 1;
      }
    })().catch(() => {});
    await expect.poll(() => made, { timeout: 90_000 }).toBe(20);
    const live = async () => (await bench.lab.look()).live;
    await expect.poll(live, { timeout: 100_000, interval: 500 }).toBeGreaterThan(500);
    // All that could come have come once nobody new does; on a busy machine that takes its time.
    let last = -1;
    const end = Date.now() + 20_000;
    for (let now = await live(); now !== last && Date.now() < end; now = await live()) {
      last = now;
      await sleep(1_000);
    }
    expect(last).toBeLessThanOrEqual(MOST);
    expect(await echo(other), "others have theirs").toEqual({ out: "hi", err: "" });
    await flood.signal("KILL");
    await sandbox.run(["sh", "-c", "kill -9 -1"], { user: "user" }).catch(() => {});
    await reading;
    await expect.poll(async () => (await echo(sandbox)).out, { timeout: 60_000 }).toBe("hi");
  });
});
