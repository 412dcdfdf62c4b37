import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Subject } from "../subject.ts";
import { asking } from "./e2b.ts";

/**
 * E2B's client with a server that does nothing and answers at once, in the bytes that a gateway
 * answers in: what of the figures beside it no server can take away.
 */
export const e2bFloor: Subject = {
  name: "e2b's client alone",
  version: async () => "a server that answers at once",
  async open() {
    const server = spawn(process.execPath, ["--input-type=module", "--eval", SERVER], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const close = async () => void server.kill();
    try {
      const [port] = (await once(createInterface({ input: server.stdout }), "line")) as [string];
      return { ...(await asking(`http://127.0.0.1:${port}`, "e2b_00")), close };
    } catch (error) {
      await close();
      throw error;
    }
  },
};

const SERVER = `
import { createServer } from "node:http";
const frame = (flags, value) => {
  const text = Buffer.from(JSON.stringify(value));
  const head = Buffer.from([flags, 0, 0, 0, 0]);
  head.writeUInt32BE(text.length, 1);
  return Buffer.concat([head, text]);
};
const ran = Buffer.concat([
  frame(0, { event: { start: { pid: 12 } } }),
  frame(0, { event: { end: { exited: true, status: "exit status 0" } } }),
  frame(2, {}),
]);
const made = Buffer.from(JSON.stringify({
  sandboxID: "a".repeat(20), templateID: "base", alias: "base", clientID: "sandboxer", envdVersion: "0.6.13",
  envdAccessToken: "k".repeat(70), domain: null, trafficAccessToken: null,
}));
const server = createServer((incoming, outgoing) => {
  const answer = (status, type, body) =>
    outgoing.writeHead(status, { "content-type": type, "content-length": body.length }).end(body);
  incoming.resume().on("end", () => {
    if (incoming.url.startsWith("/process.")) answer(200, "application/connect+json", ran);
    else if (incoming.method === "DELETE") outgoing.writeHead(204).end();
    else answer(201, "application/json", made);
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;
