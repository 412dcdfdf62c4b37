import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");
const run = promisify(execFile);

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

/** What a machine's DNS would do: names below `localhost` are this machine. */
const RESOLVER = `
const dns = require("node:dns");
const lookup = dns.lookup;
dns.lookup = (host, options, done) => {
  if (!host.endsWith(".localhost")) return lookup(host, options, done);
  const all = typeof options === "object" && options.all;
  process.nextTick(() => all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4));
};
`;

/** Names everything that works only where names and certificates do. */
const PROGRAM = `
import { readFileSync } from "node:fs";
import { Sandbox } from "e2b";
const open = await Sandbox.create({ timeoutMs: 60_000, network: { maskRequestHost: "masked:\${PORT}" } });
const shut = await Sandbox.create({ timeoutMs: 60_000, network: { allowPublicTraffic: false } });
const server = readFileSync(process.env.SERVER, "utf8");
const told = {};
for (const [name, sandbox] of Object.entries({ open, shut })) {
  await sandbox.files.write("server.py", server);
  await sandbox.commands.run("python3 server.py", { background: true, timeoutMs: 0 });
  await sandbox.commands.run("for i in $(seq 100); do (echo > /dev/tcp/127.0.0.1/8000) 2>/dev/null && exit; sleep 0.1; done");
  const answer = await fetch("https://" + sandbox.getHost(8000));
  told[name] = [answer.status, await answer.text()];
}
const word = { "e2b-traffic-access-token": shut.trafficAccessToken };
told.withWord = (await fetch("https://" + shut.getHost(8000), { headers: word })).status;
told.seen = await (await fetch("https://" + shut.getHost(8000), { headers: word })).text();
told.closed = await (await fetch("https://" + open.getHost(8001))).json();
const socket = new WebSocket("wss://" + open.getHost(8000));
told.socket = await new Promise((done) => {
  socket.onmessage = ({ data }) => done(data);
  socket.onerror = ({ message }) => done("failed: " + message);
});
socket.close();
told.signed = await (await fetch(await open.downloadUrl("server.py"))).text() === server;
await open.kill();
told.gone = await (await fetch("https://" + open.getHost(8000))).json();
await shut.kill();
console.log(JSON.stringify({ ...told, id: open.sandboxId }));
`;

describe("E2B's own client, by names and TLS on the same port", () => {
  let door: Door;

  beforeAll(async () => {
    door = await openDoor();
  });
  afterAll(() => door?.close());

  const cwd = fileURLToPath(new URL(".", import.meta.url));
  const named = async () => {
    const resolver = join(door.home, "resolver.cjs");
    await writeFile(resolver, RESOLVER);
    return {
      PATH: process.env.PATH,
      E2B_API_KEY: door.gateway.apiKey,
      E2B_DOMAIN: `preview.localhost:${new URL(door.url).port}`,
      NODE_EXTRA_CA_CERTS: join(door.home, "tls.pem"),
      NODE_OPTIONS: `--require ${resolver}`,
    };
  };

  it("works inside sandboxes and reaches their ports", async () => {
    const env = { ...(await named()), SERVER: fileURLToPath(new URL("port-server.py", import.meta.url)) };
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", PROGRAM], { cwd, env });
    const told = JSON.parse(stdout);
    expect(told.open[0]).toBe(200);
    expect(told.open[1]).toContain("Host: masked:8000");
    expect(told.shut[0]).toBe(403);
    expect(JSON.parse(told.shut[1])).toMatchObject({ code: 403 });
    expect(told.withWord).toBe(200);
    expect(told.seen).not.toContain("traffic");
    const message = "The sandbox is running but port is not open";
    expect(told.closed).toEqual({ sandboxId: told.id, message, port: 8001, code: 502 });
    expect(told.socket).toBe("hi");
    expect(told.signed).toBe(true);
    expect(told.gone).toEqual({ sandboxId: told.id, message: "The sandbox was not found", code: 502 });
  });

  it("runs code by names too", async () => {
    const code = `
import { Sandbox } from "@e2b/code-interpreter";
const sandbox = await Sandbox.create({ timeoutMs: 60_000, network: { allowPublicTraffic: false } });
await sandbox.runCode("x = 6");
const context = await sandbox.createCodeContext({ language: "bash" });
const told = [(await sandbox.runCode("x * 7")).text, (await sandbox.runCode("echo $PWD", { context })).logs.stdout];
console.log(JSON.stringify([...told, await sandbox.kill()]));`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", code], {
      cwd,
      env: await named(),
    });
    expect(JSON.parse(stdout)).toEqual(["42", ["/home/user\n"], true]);
  });

  it("shows a certificate that vouches for its own names only, and keeps its key to itself", async () => {
    const { X509Certificate } = await import("node:crypto");
    const { readFile, stat } = await import("node:fs/promises");
    const certificate = new X509Certificate(await readFile(join(door.home, "tls.pem")));
    expect(certificate.ca).toBe(false);
    expect(certificate.subjectAltName).toContain("DNS:*.preview.localhost");
    expect((await stat(join(door.home, "tls.key"))).mode & 0o777).toBe(0o600);
  });
});
