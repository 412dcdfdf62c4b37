import type { ByteStream } from "../ports.ts";
import type { Process } from "../process.ts";
import { bytes, equal, ok, readAll, refuses, sameBytes, text, until } from "./assert.ts";
import type { Case, SubjectSandbox } from "./subject.ts";

/** What a sandbox's python does for one connection `c`, and on which address it listens. */
async function serve(sandbox: SubjectSandbox, port: number, handle: string, address = "127.0.0.1") {
  const family = address.includes(":") ? "AF_INET6" : "AF_INET";
  const script = `
import socket
s = socket.socket(socket.${family})
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("${address}", ${port}))
s.listen(64)
while True:
  c = s.accept()[0]
  ${handle}
  c.close()
`;
  return sandbox.exec({ argv: ["python3", "-c", script] });
}

/** The server takes a moment to listen. */
async function dial(sandbox: SubjectSandbox, port: number): Promise<ByteStream> {
  let stream: ByteStream | undefined;
  await until(`something listens on ${port}`, async () => {
    stream = await sandbox.ports.dial(port).catch((error) => {
      if (error.code !== "port_closed") throw error;
      return undefined;
    });
    return stream !== undefined;
  });
  return stream as ByteStream;
}

async function finish(server: Process): Promise<void> {
  await server.signal("KILL");
  server.detach();
}

const ECHO = `
  while True:
    d = c.recv(65536)
    if not d: break
    c.sendall(d)`;

export const portCases: Case[] = [
  {
    name: "carries bytes to a port and back, and the end of each direction",
    async run({ sandbox }) {
      const server = await serve(sandbox, 4001, ECHO);
      const stream = await dial(sandbox, 4001);
      const whole = Uint8Array.from({ length: 3 << 20 }, (_, index) => (index * 7) & 255);
      const back = readAll(stream.data);
      await stream.write(whole);
      await stream.end();
      ok(sameBytes(await back, whole), "bytes changed on the way");
      stream.close();
      await finish(server);
    },
  },
  {
    name: "lets the server speak first, and several connections at once",
    async run({ sandbox }) {
      const server = await serve(sandbox, 4002, 'c.sendall(b"hello"); c.sendall(c.recv(100))');
      const streams = [await dial(sandbox, 4002)];
      for (let more = 0; more < 3; more++) streams.push(await sandbox.ports.dial(4002));
      for (const [index, stream] of streams.entries()) {
        await stream.write(bytes(` ${index}`));
        equal(text(await readAll(stream.data)), `hello ${index}`, "what came back");
        stream.close();
      }
      await finish(server);
    },
  },
  {
    name: "finds what listens on the newer loopback address only",
    async run({ sandbox }) {
      const server = await serve(sandbox, 4003, 'c.sendall(b"six")', "::1");
      const stream = await dial(sandbox, 4003);
      equal(text(await readAll(stream.data)), "six", "what came back");
      stream.close();
      await finish(server);
    },
  },
  {
    name: "lets the server know when a connection is let go",
    async run({ sandbox }) {
      const left = 'c.recv(1); open("left", "w").write("left")';
      const server = await serve(sandbox, 4004, left);
      const stream = await dial(sandbox, 4004);
      stream.close();
      const content = async () => text(await readAll((await sandbox.files.read("left")).data));
      await until("it knows", async () => (await content().catch(() => "")) === "left");
      await finish(server);
    },
  },
  {
    name: "refuses a port nobody listens on, and one that is none",
    async run({ sandbox }) {
      for (const port of [0, -1, 65_536, 1.5]) {
        await refuses("invalid_request", () => sandbox.ports.dial(port));
      }
      await refuses("port_closed", () => sandbox.ports.dial(4999));
    },
  },
];
