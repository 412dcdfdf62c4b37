import { readdirSync, readlinkSync } from "node:fs";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { WORLD } from "./lab/lab.ts";
import { guardProcesses } from "./lab/processes.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 300_000 });

const NAME = "api.allowed.test";
const PATIENCE = { timeout: 120_000, interval: 250 };
/** So many of one sandbox wait for the guard's word at a time. */
const MOST_ASKING = 64;

describe("EG-21 floods", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  let other: Sandbox;
  /** Sockets while nobody has a connection. */
  let idle: { readonly relay: number; readonly guard: number };
  beforeAll(async () => {
    bench = await openBench();
    for (const name of [NAME, "python.test"]) await bench.lab.name(name, [WORLD]);
    const rules = [
      { host: NAME },
      { host: NAME, protocol: "http" as const, access: "read-only" as const },
      { host: NAME, protocol: "tcp" as const, ports: [7000] },
      { host: "python.test", protocol: "tcp" as const, ports: [7000], binaries: ["/usr/bin/python3*"] },
    ];
    sandbox = await bench.sandbox({ rules });
    other = await bench.sandbox({ rules });
    idle = { relay: socketsOf(relay()), guard: socketsOf(guard()) };
  });
  afterAll(() => bench.close());
  beforeEach(() => expect.poll(() => socketsOf(relay()), PATIENCE).toBe(idle.relay));

  const python = async (from: Sandbox, script: string, program = "python3") => {
    const { stdout, stderr } = await from.run([program, "-c", script], { timeoutMs: 140_000 });
    return { out: text(stdout).trim(), err: text(stderr) };
  };
  /** What so many connections at once say back, each with a word of its own. */
  const echoes = (count: number, host = NAME) => `
import socket
address = socket.gethostbyname("${host}")
def reach():
    try: return socket.create_connection((address, 7000), 60)
    except OSError: return None
def answers(one, word):
    try: one.sendall(word); return one.recv(4) == word
    except OSError: return False
ones = [one for one in (reach() for _ in range(${count})) if one]
print(sum(answers(one, b"%04d" % number) for number, one in enumerate(ones)), flush=True)`;
  const socketsOf = (pid: number | undefined) =>
    readdirSync(`/proc/${pid}/fd`).filter((name) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${name}`).startsWith("socket:");
      } catch {
        return false;
      }
    }).length;
  const relay = () => guardProcesses(bench.home, " relay ")[0];
  const guard = () => guardProcesses(bench.home, "main.ts")[0];

  it("thousands that come and go at once leave nothing open, and others have theirs", async () => {
    expect(await python(sandbox, echoes(1))).toEqual({ out: "1", err: "" });
    const flood = python(
      sandbox,
      `
import socket, struct
address = socket.gethostbyname("${NAME}")
places = [(address, 7000), (address, 80), (address, 443), (address, 9), ("198.18.0.1", 3128), ("198.18.0.1", 1080)]
for number in range(3000):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    try:
        one.connect(places[number % len(places)])
        if number % 3 == 0: one.sendall(b"CONNECT ${NAME}:443 HTTP/1.1\\r\\n\\r\\n")
    except OSError: pass
    one.close()
print("done")`,
    );
    expect(await python(other, echoes(20)), "others have theirs").toEqual({ out: "20", err: "" });
    expect(await flood).toEqual({ out: "done", err: "" });
    await expect.poll(() => socketsOf(relay()), PATIENCE).toBe(idle.relay);
    await expect.poll(() => socketsOf(guard()), PATIENCE).toBeLessThanOrEqual(idle.guard);
    await expect.poll(async () => (await bench.lab.look()).live, PATIENCE).toBe(0);
    expect(await python(sandbox, echoes(1)), "and so has who did it").toEqual({ out: "1", err: "" });
  });

  it("control: what stays is seen to be open", async () => {
    const staying = await sandbox.exec({
      argv: ["python3", "-c", `${echoes(100)}\nimport time; time.sleep(600)`],
    });
    await expect.poll(() => socketsOf(relay()), PATIENCE).toBe(idle.relay + 200);
    await staying.signal("KILL");
    await expect.poll(() => socketsOf(relay()), PATIENCE).toBe(idle.relay);
  });

  it("in a crowd each is known by its own program", async () => {
    await sandbox.run(["sh", "-c", "cp $(readlink -f /usr/bin/python3) /home/user/python3"]);
    const script = echoes(300, "python.test");
    const [named, unnamed] = await Promise.all([
      python(sandbox, script),
      python(sandbox, script, "/home/user/python3"),
    ]);
    expect({ named, unnamed }).toEqual({ named: { out: "300", err: "" }, unnamed: { out: "0", err: "" } });
    const binaries = async () => {
      const { calls } = await sandbox.networkCalls();
      const its = calls.filter(({ host }) => host === "python.test");
      return [
        ...new Set(its.map(({ verdict, binary }) => `${verdict} ${binary?.replace(/[\d.]+$/, "")}`)),
      ].toSorted();
    };
    await expect.poll(binaries, PATIENCE).toEqual(["allowed /usr/bin/python", "denied /home/user/python"]);
  });

  it("who leaves before the guard has spoken still counts among those that wait for its word", async () => {
    const crowd = await sandbox.exec({
      argv: [
        "python3",
        "-c",
        `
import socket, struct, sys
address = socket.gethostbyname("${NAME}")
print("ready", flush=True); sys.stdin.readline()
first = [socket.create_connection((address, 7000), 60) for _ in range(${MOST_ASKING})]
print("came", flush=True); sys.stdin.readline()
for one in first:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); one.close()
print("left", flush=True); sys.stdin.readline()
next = [socket.create_connection((address, 7000), 60) for _ in range(5)]
# Whoever answers these has had its turn for the others as well.
for _ in range(3): socket.gethostbyname("${NAME}")
print("queued", flush=True); sys.stdin.readline()
for one in next: one.sendall(b"hi"); assert one.recv(2) == b"hi"
print("heard", flush=True)`,
      ],
      stdin: true,
    });
    const said: string[] = [];
    void (async () => {
      for await (const event of crowd.events) if (event.type === "stdout") said.push(text(event.data).trim());
    })().catch(() => {});
    const go = () => crowd.writeStdin(new TextEncoder().encode("\n"));
    const heard = (word: string) => expect.poll(() => said.at(-1), PATIENCE).toBe(word);
    await heard("ready");
    process.kill(guard() ?? 0, "SIGSTOP");
    try {
      await go();
      await heard("came");
      await expect.poll(() => socketsOf(relay()), PATIENCE).toBe(idle.relay + MOST_ASKING);
      await go();
      await heard("left");
      await expect.poll(() => socketsOf(relay()), PATIENCE).toBe(idle.relay);
      await go();
      await heard("queued");
      expect(socketsOf(relay()), "their turn has not come").toBe(idle.relay);
    } finally {
      process.kill(guard() ?? 0, "SIGCONT");
    }
    await go();
    await heard("heard");
  });
});
