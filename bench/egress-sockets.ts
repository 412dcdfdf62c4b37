import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import { WORLD } from "../tests/egress/lab/lab.ts";
import { type Bench, text } from "../tests/egress/lab/sandbox.ts";
import type { Session } from "./session.ts";

const run = promisify(execFile);
const NAME = "sockets.allowed.test";
const PORT = 7001;
const CONNECTIONS = 500;
const BYTES = 256 * 2 ** 20;
const RULES = [
  { host: NAME, protocol: "tcp" as const, ports: [PORT, 7000, 80] },
  { host: NAME, access: "read-only" as const },
];

/** Bytes a second through one plain connection, beside the same on loopback: raw ones, or asked for by HTTP. */
export async function socketSpeed(bench: Bench, session: Session, rounds: number) {
  await bench.lab.name(NAME, [WORLD]);
  const sandbox = await bench.sandbox({ rules: RULES });
  const server = await serveBytes(bench);
  session.keep({ close: async () => void server.kill() });
  const [command = "", ...rest] = bench.lab.beside;
  const ways = (port: number, request: string) => ({
    direct: async () =>
      Number((await run(command, [...rest, ...reading("127.0.0.1", port, request)])).stdout),
    guarded: async () => Number(text((await sandbox.run(reading(NAME, port, request))).stdout)),
  });
  return {
    raw: await compare(session, rounds, ways(PORT, "")),
    http: await compare(
      session,
      rounds,
      ways(80, `GET /bytes/${BYTES} HTTP/1.1\\r\\nHost: ${NAME}\\r\\nConnection: close\\r\\n\\r\\n`),
    ),
  };
}

interface Ways {
  readonly direct: () => Promise<number>;
  readonly guarded: () => Promise<number>;
}

async function compare(session: Session, rounds: number, { direct, guarded }: Ways) {
  const speeds = { direct: [] as number[], guarded: [] as number[], ratio: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    session.signal.throwIfAborted();
    const [beside, through] = [await direct(), await guarded()];
    speeds.direct.push(beside);
    speeds.guarded.push(through);
    speeds.ratio.push(through / beside);
  }
  return { direct: median(speeds.direct), guarded: median(speeds.guarded), ratio: median(speeds.ratio) };
}

async function serveBytes({ lab }: Bench): Promise<ChildProcess> {
  const [command = "", ...rest] = lab.beside;
  const server = spawn(command, [...rest, "python3", "-c", SERVER], { stdio: ["ignore", "pipe", "inherit"] });
  await once(server.stdout, "data");
  return server;
}

const SERVER = `
import socket
with socket.create_server(("", ${PORT})) as server:
    print("ready", flush=True)
    piece = bytes(1 << 20)
    while True:
        one, _ = server.accept()
        with one:
            try:
                for _ in range(${BYTES >> 20}): one.sendall(piece)
            except OSError: pass`;

const reading = (host: string, port: number, request: string): string[] => [
  "python3",
  "-c",
  `
import socket, time
began, total, room = time.perf_counter(), 0, bytearray(1 << 20)
with socket.create_connection(("${host}", ${port})) as one:
    one.sendall(b"${request}")
    while count := one.recv_into(room): total += count
print(total / (time.perf_counter() - began))`,
];

/** In KiB, by how much more memory guard and relay have while so many connections are open. */
export async function memoryPerConnection(bench: Bench): Promise<{ unread: number; read: number }> {
  const sandbox = await bench.sandbox({ rules: RULES });
  const grown = async (script: string) => {
    const before = residentKiB(bench.home);
    const holding = await sandbox.exec({ argv: ["python3", "-c", script, `${CONNECTIONS}`] });
    for await (const event of holding.events) if (event.type === "stdout") break;
    const grew = residentKiB(bench.home) - before;
    await holding.signal("KILL");
    return grew / CONNECTIONS;
  };
  return { unread: await grown(UNREAD), read: await grown(READ) };
}

const UNREAD = `
import socket, sys, time
ones = [socket.create_connection(("${NAME}", 7000), 60) for _ in range(int(sys.argv[1]))]
for one in ones: one.sendall(b"x"); one.recv(1)
print("open", flush=True); time.sleep(60)`;

const READ = `
import http.client, ssl, sys, time
trust = ssl.create_default_context()
ones = [http.client.HTTPSConnection("${NAME}", timeout=60, context=trust) for _ in range(int(sys.argv[1]))]
for one in ones: one.request("GET", "/"); one.getresponse().read()
print("open", flush=True); time.sleep(60)`;

/** Of every process of this bench's guard. */
function residentKiB(home: string): number {
  let sum = 0;
  for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, "utf8");
      if (!line.includes(`${home}/guard`) || line.startsWith("nsenter")) continue;
      sum += Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1] ?? 0);
    } catch {
      // It ended meanwhile.
    }
  }
  return sum;
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
