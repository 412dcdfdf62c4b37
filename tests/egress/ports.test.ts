import { execFileSync } from "node:child_process";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { OTHER, WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

/** So few, that all of them are soon used. */
const PORTS = 1_000;
const COUNT = 100;
const TIME_WAIT = "06";

describe("EG-21 the ports that connections come from", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench();
    await bench.lab.name("here.test", [WORLD]);
    await bench.lab.name("there.test", [OTHER]);
    const [command = "", ...rest] = bench.lab.prefix;
    const limit = `echo 40000 ${40_000 + PORTS - 1} > /proc/sys/net/ipv4/ip_local_port_range`;
    execFileSync(command, [...rest, "sh", "-c", limit]);
  });
  afterAll(() => bench.close());

  /** So many connections that the program ends first; says how many were answered. */
  const answered = async (sandbox: Sandbox, host: string, count: number) => {
    const script = `
import socket
address, answered = socket.gethostbyname("${host}"), 0
for _ in range(${count}):
    try:
        with socket.create_connection((address, 7000), 30) as one:
            one.sendall(b"x")
            answered += len(one.recv(1))
    except OSError: pass
print(answered)`;
    const { stdout, stderr } = await sandbox.run(["python3", "-c", script], { timeoutMs: 100_000 });
    if (stdout.length === 0) throw new Error(text(stderr));
    return Number(text(stdout));
  };

  /** How many ports are kept towards this one. */
  const waiting = (port: number): number => {
    const [command = "", ...rest] = bench.lab.prefix;
    const sockets = execFileSync(command, [...rest, "cat", "/proc/net/tcp", "/proc/net/tcp6"], {
      encoding: "utf8",
    });
    const far = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
    const rows = sockets.split("\n").map((line) => line.trim().split(/\s+/));
    return rows.filter(([, , to = "", state]) => to.endsWith(far) && state === TIME_WAIT).length;
  };

  it("whoever has requests read in the clear keeps none", async () => {
    const sandbox = await bench.sandbox({ rules: [{ host: "here.test", protocol: "http" }] });
    const script = `
import socket
address, answered = socket.gethostbyname("here.test"), 0
for path in ["/", "/drip"] * ${COUNT / 2}:
    with socket.create_connection((address, 80), 30) as one:
        one.sendall(b"GET %s HTTP/1.1\\r\\nHost: here.test\\r\\n\\r\\n" % path.encode())
        if path == "/": answered += b"200 OK" in one.recv(4000)
print(answered)`;
    const { stdout, stderr } = await sandbox.run(["python3", "-c", script], { timeoutMs: 100_000 });
    expect({ answered: text(stdout).trim(), err: text(stderr) }).toEqual({
      answered: `${COUNT / 2}`,
      err: "",
    });
    await bench.lab.settle();
    expect(waiting(80)).toBeLessThan(COUNT / 4);
    // Control: what is carried unread ends in order, and is seen to wait.
    const unread = await bench.sandbox({ rules: [{ host: "there.test", protocol: "tcp", ports: [7000] }] });
    await answered(unread, "there.test", 20);
    await expect.poll(() => waiting(7000)).toBe(20);
  }, 120_000);

  it("one sandbox that uses them up leaves the others theirs", async () => {
    const rules = ["here.test", "there.test"].map((host) => ({
      ...{ host, protocol: "tcp" as const, ports: [7000] },
    }));
    const [greedy, other] = [await bench.sandbox({ rules }), await bench.sandbox({ rules })];
    const got = await answered(greedy, "here.test", PORTS + 100);
    expect(got).toBeGreaterThanOrEqual(PORTS / 2);
    // One that has just ended may not be counted yet when the next begins.
    expect(got).toBeLessThan(PORTS * 0.6);
    const last = async () => (await greedy.networkCalls()).calls.at(-1);
    await expect.poll(last).toMatchObject({
      verdict: "failed",
      reason: "too many connections there within a minute",
    });
    expect(await answered(other, "here.test", 20), "others have theirs").toBe(20);
    expect(await answered(greedy, "there.test", 20), "elsewhere it has others").toBe(20);
  }, 120_000);
});
