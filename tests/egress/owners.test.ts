import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 120_000 });

const HOSTS = ["one.allowed.test", "two.allowed.test"];

describe("whose a connection is", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of HOSTS) await bench.lab.name(name, [WORLD]);
    sandbox = await bench.sandbox({
      rules: HOSTS.map((host) => ({ host, protocol: "tcp" as const, ports: [80, 7000] })),
    });
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const python = async (script: string) => {
    const { stdout, stderr } = await sandbox.run(["python3", "-c", script], { timeoutMs: 50_000 });
    return { out: text(stdout).trim(), err: text(stderr) };
  };

  it("is known however often a program connects from one and the same port", async () => {
    const script = `
import socket
for port in range(40000, 40020):
    for host, there in [("one.allowed.test", 7000), ("two.allowed.test", 7000), ("two.allowed.test", 80)]:
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("", port))
            one.connect((host, there))
            one.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
            assert one.recv(4), (port, host, there)
print("all")`;
    expect(await python(script)).toEqual({ out: "all", err: "" });
  });

  it("also when the program is gone before anybody looked: what it said arrives", async () => {
    const script = `
import socket
for _ in range(20):
    with socket.create_connection(("one.allowed.test", 80)) as one:
        one.sendall(b"GET /left HTTP/1.1\\r\\nHost: one.allowed.test\\r\\n\\r\\n")
print("left")`;
    expect(await python(script)).toEqual({ out: "left", err: "" });
    const arrived = async () =>
      (await bench.lab.look()).records.filter(({ what }) => what === "GET /left").length;
    await expect.poll(arrived, { timeout: 30_000 }).toBe(20);
  });
});
