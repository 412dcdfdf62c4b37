import { spawn } from "node:child_process";
import { once } from "node:events";
import { WORLD } from "../../tests/egress/lab/lab.ts";
import { type Bench, openBench, text } from "../../tests/egress/lab/sandbox.ts";
import type { Question } from "../question.ts";

const CONNECTIONS = 500;
const CROWD_PORT = 7001;
const RULES = [{ host: "raw.allowed.test", protocol: "tcp" as const, ports: [80, CROWD_PORT] }];

/**
 * What one sandbox with 500 connections costs another, and the API. `busy`: they are open, and each
 * asks for something once a second. `storm`: so many are opened and closed every second. `burst`: all
 * are opened at once, again and again, which is as much as one program can do; there is no goal for it.
 */
export const question: Question = {
  size: 300,
  async ask(session, samples) {
    const bench = await openBench();
    session.keep({ close: () => bench.close() });
    await bench.lab.name("raw.allowed.test", [WORLD]);
    session.keep(await serveCrowd(bench));
    const [crowd, other] = [await bench.sandbox({ rules: RULES }), await bench.sandbox({ rules: RULES })];
    const measure = async () => {
      session.signal.throwIfAborted();
      const { stdout, stderr } = await other.run(["python3", "-c", CALLS, `${samples}`], {
        timeoutMs: 120_000,
        limitBytes: 1_000_000,
      });
      if (stdout.length === 0) throw new Error(text(stderr));
      return { others: p99(JSON.parse(text(stdout))), api: p99(await apiCalls(bench, samples)) };
    };
    const during = async (script: string) => {
      const running = await crowd.exec({ argv: ["python3", "-c", script, `${CONNECTIONS}`] });
      const events = running.events[Symbol.asyncIterator]();
      for (let ready = ""; !ready.includes("ready"); ) {
        const { value, done } = await events.next();
        if (done) throw new Error("the crowd did not come");
        if (value.type === "stdout") ready += text(value.data);
        if (value.type === "stderr") throw new Error(text(value.data));
      }
      const measured = await measure();
      await running.signal("KILL");
      return measured;
    };
    const quiet = [await measure()];
    const busy = await during(BUSY);
    quiet.push(await measure());
    const storm = await during(STORM);
    quiet.push(await measure());
    const burst = await during(BURST);
    quiet.push(await measure());
    const alone = {
      others: median(quiet.map(({ others }) => others)),
      api: median(quiet.map(({ api }) => api)),
    };
    const line = (name: string, { others, api }: typeof alone, goals = [" (goal ≤ 2)", " (goal ≤ 1.5)"]) =>
      `${name}: others' p99 ${others.toFixed(1)} ms = ${(others / alone.others).toFixed(1)} ×${goals[0] ?? ""}, the API's ${api.toFixed(2)} ms = ${(api / alone.api).toFixed(1)} ×${goals[1] ?? ""}`;
    return {
      data: { connections: CONNECTIONS, samples, alone, busy, storm, burst },
      lines: [
        `alone: another sandbox's connection and request p99 ${alone.others.toFixed(1)} ms, the API's ${alone.api.toFixed(2)} ms`,
        line(`${CONNECTIONS} connections, each asking once a second`, busy),
        line(`${CONNECTIONS} connections opened and closed a second`, storm),
        line(`${CONNECTIONS} connections opened at once, over and over`, burst, []),
      ],
    };
  },
};

/** A far side of the crowd's own: what waits for it there is not the guard's doing. */
async function serveCrowd({ lab }: Bench): Promise<{ close(): Promise<void> }> {
  const [command = "", ...rest] = lab.beside;
  const script = `require("net").createServer((one) => one.on("error", () => {}).pipe(one)).listen(${CROWD_PORT}, "::", 4096, () => console.log("ready"))`;
  const server = spawn(command, [...rest, process.execPath, "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(server.stdout, "data");
  return { close: async () => void server.kill() };
}

/** A new connection and one request on it, again and again. */
const CALLS = `
import json, socket, sys, time
took = []
for _ in range(int(sys.argv[1])):
    began = time.perf_counter()
    with socket.create_connection(("raw.allowed.test", 80), 30) as one:
        one.sendall(b"GET / HTTP/1.1\\r\\nHost: raw.allowed.test\\r\\nConnection: close\\r\\n\\r\\n")
        while one.recv(65536): pass
    took.append((time.perf_counter() - began) * 1000)
    time.sleep(0.005)
print(json.dumps(took))`;

const BUSY = `
import selectors, socket, sys, time
many = int(sys.argv[1])
address = socket.gethostbyname("raw.allowed.test")
open_ones = [socket.create_connection((address, ${CROWD_PORT}), 60) for _ in range(many)]
# A connection is there once the far side has answered: until then the guard may still be asked.
for one in open_ones:
    one.sendall(b"x" * 100)
    one.recv(100)
print("ready", flush=True)
while True:
    for one in open_ones:
        one.sendall(b"x" * 100)
        one.recv(100)
        time.sleep(1 / many)`;

const STORM = `
import socket, sys, time
address = socket.gethostbyname("raw.allowed.test")
print("ready", flush=True)
began, made = time.perf_counter(), 0
while True:
    with socket.create_connection((address, ${CROWD_PORT}), 60) as one:
        try: one.sendall(b"x" * 100); one.recv(100)
        except OSError: pass
    made += 1
    time.sleep(max(0, began + made / int(sys.argv[1]) - time.perf_counter()))`;

const BURST = `
import socket, sys
address = socket.gethostbyname("raw.allowed.test")
print("ready", flush=True)
while True:
    ones = [socket.create_connection((address, ${CROWD_PORT}), 60) for _ in range(int(sys.argv[1]))]
    for act in (lambda one: one.sendall(b"x" * 100), lambda one: one.recv(100), socket.socket.close):
        for one in ones:
            # Towards one address it has only so many ports a minute; then it is refused, and goes on.
            try: act(one)
            except OSError: pass`;

async function apiCalls({ client }: Bench, count: number): Promise<number[]> {
  const took: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const began = performance.now();
    await client.sandboxes.list();
    took.push(performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return took;
}

const p99 = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? 0;
const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
