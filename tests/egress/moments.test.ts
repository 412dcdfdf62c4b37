import { setTimeout as sleep } from "node:timers/promises";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { SILENCE } from "./lab/dns.ts";
import { WORLD } from "./lab/lab.ts";
import { guardProcesses } from "./lab/processes.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 180_000 });

const RAW = { host: "raw.allowed.test", protocol: "tcp" as const, ports: [7000] };
const SOCKET = { host: "api.allowed.test", protocol: "http" as const, paths: ["/ws", "/slow"] };
const READ = { host: "api.allowed.test", paths: ["/ws"] };
/** Tries what is denied and what is allowed, without a pause, from its first moment to its last. */
const TRIES = `
import socket, sys
wanted = [("raw.allowed.test", 7000), ("evil.test", 7000), ("${WORLD}", 7000), ("198.18.0.1", 7000)]
said = set()
while True:
    for host, port in wanted:
        try:
            with socket.create_connection((host, port), 5) as one:
                one.sendall(host.encode())
                if one.recv(100) and host not in said:
                    said.add(host)
                    print(host, flush=True)
        except OSError: pass`;

describe("at every moment", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of ["raw.allowed.test", "api.allowed.test", "evil.test"]) {
      await bench.lab.name(name, [WORLD]);
    }
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  /** What has come out so far. */
  const listen = async (sandbox: Sandbox, script: string) => {
    const running = await sandbox.exec({ argv: ["python3", "-u", "-c", script] });
    const heard: string[] = [];
    const over = (async () => {
      for await (const event of running.events) {
        if (event.type === "stdout" || event.type === "stderr") heard.push(text(event.data));
      }
    })().catch(() => {});
    return { over, said: () => heard.join("") };
  };
  const connections = async () =>
    (await bench.lab.look()).records.filter(({ kind }) => kind === "connection").length;
  const lookedUp = async () =>
    (await bench.lab.look()).records.filter(({ kind, what }) => kind === "dns" && what.includes("evil"));

  it("EG-14 a WebSocket that loses its rule is closed, read in the clear or through TLS, and others are not", async () => {
    const open = (port: number) => `
import socket, ssl
plain = socket.create_connection(("api.allowed.test", ${port}), 30)
one = ssl.create_default_context().wrap_socket(plain, server_hostname="api.allowed.test") if ${port} == 443 else plain
one.settimeout(60)
one.sendall(b"GET /ws HTTP/1.1\\r\\nHost: api.allowed.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n")
print(one.recv(4096)[:12].decode())
one.sendall(bytes([0x81, 0x87, 0, 0, 0, 0]) + b"a frame")
print(one.recv(4096).decode("latin1"))
try: print("ended", len(one.recv(4096)))
except OSError: print("ended 0")`;
    const sandbox = await bench.sandbox({ rules: [READ, SOCKET, RAW] });
    const sockets = [await listen(sandbox, open(80)), await listen(sandbox, open(443))];
    const other = await listen(
      sandbox,
      `
import os, socket, time
one = socket.create_connection(("raw.allowed.test", 7000), 30)
one.settimeout(60)
one.sendall(b"1"); print(one.recv(1).decode())
while not os.path.exists("/home/user/go"): time.sleep(0.05)
one.sendall(b"2"); print(one.recv(1).decode())`,
    );
    for (const { said } of sockets) await expect.poll(said, { timeout: 30_000 }).toContain("a frame");
    await expect.poll(other.said, { timeout: 30_000 }).toContain("1");
    expect(sockets.map(({ said }) => said().slice(0, 12))).toEqual(["HTTP/1.1 101", "HTTP/1.1 101"]);
    // Rules that change elsewhere close nothing.
    await sandbox.changeNetwork({ egress: "guarded", rules: [READ, SOCKET, RAW, { host: "more.test" }] });
    expect(sockets.map(({ said }) => said().includes("ended"))).toEqual([false, false]);
    await sandbox.changeNetwork({ egress: "guarded", rules: [RAW] });
    for (const { said } of sockets) await expect.poll(said, { timeout: 60_000 }).toContain("ended 0");
    await sandbox.files.write("/home/user/go", [new Uint8Array()]);
    await expect.poll(other.said, { timeout: 30_000 }).toContain("2");
  });

  it("EG-14 a request whose rule is taken while its name is looked up is not made", async () => {
    const late = { host: "late.test", protocol: "http" as const };
    const ask = (sandbox: Sandbox) =>
      sandbox.run([
        "curl",
        "-s",
        "--max-time",
        "60",
        "--proxy",
        "http://198.18.0.1:3128",
        "http://late.test/",
      ]);
    const isAsked = async () => (await bench.lab.look()).records.some(({ what }) => what === "A late.test");
    for (const isTaken of [false, true]) {
      await bench.lab.clear();
      await bench.lab.name("late.test", [SILENCE]);
      const sandbox = await bench.sandbox({ rules: [late] });
      const asking = ask(sandbox);
      await expect.poll(isAsked, { timeout: 30_000 }).toBe(true);
      if (isTaken) await sandbox.changeNetwork({ egress: "guarded", rules: [] });
      await bench.lab.name("late.test", [WORLD]);
      const said = text((await asking).stdout);
      const made = (await bench.lab.look()).records.filter(({ kind }) => kind === "request");
      expect(
        made.map(({ what }) => what),
        isTaken ? said : "control",
      ).toEqual(isTaken ? [] : ["GET /"]);
    }
  });

  it("EG-20 from its first moment to its last, a sandbox reaches what it may and nothing else", async () => {
    const sandbox = await bench.sandbox({ rules: [RAW] });
    const { said, over } = await listen(sandbox, TRIES);
    await expect.poll(said, { timeout: 30_000 }).toContain("raw.allowed.test");
    await sandbox.destroy();
    await over;
    expect(said()).toBe("raw.allowed.test\n");
    expect(await lookedUp()).toEqual([]);
    await expect.poll(async () => (await bench.lab.look()).live, { timeout: 30_000 }).toBe(0);
    await bench.lab.settle();
    await bench.lab.clear();
    await sleep(500);
    expect((await bench.lab.look()).records, "nothing after its end").toEqual([]);
  });

  it("EG-20 a sandbox that is made while the guard dies is guarded or not made at all", async () => {
    const outcomes: string[] = [];
    for (const [victim, afterMs] of [
      ["guard/main.ts", 0],
      [" relay ", 5],
      ["guard/main.ts", 20],
      [" relay ", 60],
    ] as const) {
      setTimeout(() => guardProcesses(bench.home, victim).forEach(kill), afterMs);
      try {
        const made = await bench.client.sandboxes.create({ network: { egress: "guarded", rules: [RAW] } });
        const { said } = await listen(made, TRIES);
        await sleep(700);
        outcomes.push(said());
        await made.destroy();
      } catch (error) {
        outcomes.push(String((error as { code?: string }).code));
      }
    }
    for (const outcome of outcomes) {
      expect(outcome).toMatch(/^(?:|raw\.allowed\.test\n|extension_unavailable|extension_failed)$/);
    }
    expect(await lookedUp()).toEqual([]);
    // Control: once it is left alone, the same program gets where it may.
    const calm = await bench.sandbox({ rules: [RAW] });
    const { said } = await listen(calm, TRIES);
    await expect.poll(said, { timeout: 60_000 }).toBe("raw.allowed.test\n");
    expect(await connections()).toBeGreaterThan(0);
    await calm.destroy();
  });

  it("EG-20 killed in the middle of a connection, the guard takes it along", async () => {
    const sandbox = await bench.sandbox({ rules: [RAW] });
    const script = `
import socket
while True:
    try:
        with socket.create_connection(("raw.allowed.test", 7000), 5) as one:
            one.settimeout(60)
            one.sendall(b"x"); one.recv(1); print("open")
            try: print("ended", len(one.recv(1)))
            except OSError: print("ended 0")
            break
    except OSError: pass`;
    for (const victim of ["guard/main.ts", " relay "]) {
      const { said } = await listen(sandbox, script);
      await expect.poll(said, { timeout: 60_000 }).toContain("open");
      for (const pid of guardProcesses(bench.home, victim)) kill(pid);
      await expect.poll(said, { timeout: 60_000 }).toContain("ended 0");
    }
    await expect.poll(async () => (await bench.lab.look()).live, { timeout: 30_000 }).toBe(0);
  });
});

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It went by itself.
  }
}
