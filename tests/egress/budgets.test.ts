import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSandboxId } from "@sandboxer/contract";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { WORLD } from "./lab/lab.ts";
import { guardProcesses } from "./lab/processes.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 120_000 });

const HOST = "raw.allowed.test";
const rule = (budget?: { upBytes?: number; downBytes?: number }, host = HOST) => ({
  host,
  protocol: "tcp" as const,
  ports: [80, 7000],
  ...(budget && { budget }),
});

describe("EG-21 byte budgets", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of [HOST, "other.allowed.test", "read.allowed.test"]) await bench.lab.name(name, [WORLD]);
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  /** Sends so much, and says how much of it came back. */
  const send = async (sandbox: Sandbox, bytes: number, host = HOST) => {
    const script = `
import socket, threading
total = 0
try:
    with socket.create_connection(("${host}", 7000), 30) as one:
        one.settimeout(30)
        def push():
            try:
                for _ in range(${bytes} // 1000): one.sendall(b"x" * 1000)
                one.shutdown(socket.SHUT_WR)
            except OSError: pass
        pushing = threading.Thread(target=push); pushing.start()
        while part := one.recv(65536): total += len(part)
        pushing.join()
except OSError: pass
print(total)`;
    return Number(text((await sandbox.run(["python3", "-c", script])).stdout));
  };
  const used = async (sandbox: Sandbox) => (await sandbox.networkCalls()).budgets;
  const lastWhy = async (sandbox: Sandbox) => (await sandbox.networkCalls()).calls.at(-1)?.reason;

  it("end a connection in its middle, exactly there, and let no other begin", async () => {
    const sandbox = await bench.sandbox({
      rules: [rule({ upBytes: 1_000_000 }), rule({}, "other.allowed.test")],
    });
    expect(await send(sandbox, 400_000), "control: within it").toBe(400_000);
    await expect.poll(async () => (await used(sandbox))[0]).toMatchObject({ rule: HOST, upBytes: 400_000 });
    expect(await send(sandbox, 5_000_000)).toBeLessThanOrEqual(600_000);
    await expect.poll(async () => (await used(sandbox))[0]).toMatchObject({ upBytes: 1_000_000 });
    expect(await send(sandbox, 1_000)).toBe(0);
    await expect.poll(() => lastWhy(sandbox)).toBe(`the budget of ${HOST} is spent`);
    expect(await send(sandbox, 100_000, "other.allowed.test"), "others go on").toBe(100_000);
    // More is put in while it runs, and what was used stays used.
    await sandbox.changeNetwork({ egress: "guarded", rules: [rule({ upBytes: 1_200_000 })] });
    expect(await send(sandbox, 200_000)).toBe(200_000);
    expect(await send(sandbox, 1_000)).toBe(0);
  });

  it("of the sandbox count everything, read and unread, through a proxy or not", async () => {
    const read = { host: "read.allowed.test", access: "read-only" as const };
    const plain = { host: "read.allowed.test", protocol: "http" as const };
    const sandbox = await bench.sandbox({ rules: [rule(), read, plain], budget: { downBytes: 2_000_000 } });
    const get = async (...args: string[]) => {
      const all = ["curl", "-s", "-o", "/dev/null", "-w", "%{size_download}", "--max-time", "30", ...args];
      return Number(text((await sandbox.run(all)).stdout));
    };
    expect(await get("https://read.allowed.test/bytes/500000")).toBe(500_000);
    expect(await get("http://read.allowed.test/bytes/500000")).toBe(500_000);
    const proxy = ["--proxy", "http://198.18.0.1:3128"];
    expect(await get(...proxy, "http://read.allowed.test/bytes/500000")).toBe(500_000);
    expect(await get(`http://${HOST}/bytes/5000000`)).toBeLessThan(500_000);
    await expect.poll(async () => (await used(sandbox))[0]?.downBytes).toBe(2_000_000);
    for (const url of ["https://read.allowed.test/", "http://read.allowed.test/", `http://${HOST}/`]) {
      await bench.lab.clear();
      await get(url);
      await get(...proxy, url);
      const { records } = await bench.lab.look();
      expect(records.filter(({ kind }) => kind === "request")).toEqual([]);
    }
  });

  it("are used up for good: neither guard nor gateway gives anything back when it starts again", async () => {
    const sandbox = await bench.sandbox({ rules: [rule({ upBytes: 300_000 })] });
    expect(await send(sandbox, 200_000)).toBe(200_000);
    await expect.poll(async () => (await used(sandbox))[0]).toMatchObject({ upBytes: 200_000 });
    for (const pid of guardProcesses(bench.home, "guard/main.ts")) process.kill(pid, "SIGKILL");
    await expect.poll(() => send(sandbox, 50_000), { timeout: 30_000 }).toBe(50_000);
    await expect.poll(async () => (await used(sandbox))[0]).toMatchObject({ upBytes: 250_000 });
    await bench.gateway.close();
    // As somebody who was killed left it: a guard's socket, and what is known of a sandbox that is over.
    const guarded = join(bench.home, "guard");
    const leftovers = [
      `${newSandboxId()}.spent.json`,
      `${newSandboxId()}.spent.json.new`,
      "inspect-999999999.sock",
    ];
    for (const name of leftovers) writeFileSync(join(guarded, name), "{}");
    const again = await (await bench.reopen()).sandboxes.get(sandbox.id);
    let got = 0;
    const sendMore = async () => {
      got += await send(again, 1_000_000);
      return (await used(again))[0]?.upBytes;
    };
    await expect.poll(sendMore, { timeout: 30_000 }).toBe(300_000);
    expect(got).toBeLessThanOrEqual(50_000);
    expect(await send(again, 1_000)).toBe(0);
    expect(readdirSync(guarded).filter((name) => leftovers.includes(name))).toEqual([]);
    const book = join(guarded, `${sandbox.id}.spent.json`);
    await expect.poll(() => existsSync(book), { timeout: 30_000 }).toBe(true);
    await again.destroy();
    expect(existsSync(book), "nothing of it is kept when the sandbox is over").toBe(false);
  });
});
