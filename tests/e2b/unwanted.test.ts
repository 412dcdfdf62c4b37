import { Buffer } from "node:buffer";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { Sandbox } from "e2b";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

/** More than what lies between a client and the gateway on its own. */
const REST = Buffer.alloc(18 << 20, 0x20);
const head = (name: string) =>
  `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n`;
const form = Buffer.concat([Buffer.from(head("x")), REST, Buffer.from("\r\n--b--\r\n")]);
const endless = Buffer.concat([Buffer.from([0, 255, 0, 0, 0]), REST]);

const OCTETS = { "content-type": "application/octet-stream" };
const FORM = { "content-type": "multipart/form-data; boundary=b" };
const GZIP = { "content-encoding": "gzip" };
const FRAMES = { "content-type": "application/connect+json" };
const CASES: readonly (readonly [string, string, Readonly<Record<string, string>>, Buffer, string])[] = [
  ["bytes for a folder", "/files?path=/tmp", OCTETS, REST, "400"],
  ["bytes of nobody's", "/files?path=a&username=nobody-here", OCTETS, REST, "401"],
  ["bytes that are no gzip", "/files?path=a", { ...OCTETS, ...GZIP }, REST, "400"],
  ["a form for a folder", "/files?path=/tmp", FORM, form, "400"],
  ["a form of nobody's", "/files?path=a&username=nobody-here", FORM, form, "401"],
  ["a form with a head without end", "/files", FORM, Buffer.concat([Buffer.from("--b\r\n"), REST]), "400"],
  ["a squeezed form", "/files?path=/tmp", { ...FORM, ...GZIP }, gzipSync(form, { level: 0 }), "400"],
  ["a message that is too large", "/process.Process/SendInput", FRAMES, REST, "415"],
  ["an envelope that is too large", "/process.Process/Start", FRAMES, endless, "200"],
  ["a stream that is too large", "/process.Process/StreamInput", FRAMES, endless, "200"],
  ["what nobody asked for", "/nothing", OCTETS, REST, "404"],
];

describe("what is refused before it is whole", () => {
  let door: Door;
  let sandbox: Sandbox;
  let own: Readonly<Record<string, string>>;

  beforeAll(async () => {
    door = await openDoor();
    sandbox = await Sandbox.create("base", door.options);
    const { core, apiKey } = door.gateway;
    const token = await core.openAccess(await core.authenticate(apiKey), sandbox.sandboxId);
    own = { "e2b-sandbox-id": sandbox.sandboxId, "x-access-token": token };
  });
  afterAll(async () => {
    await sandbox?.kill();
    await door?.close();
  });

  it.each(CASES)("%s leaves the connection to the next request", async (_, path, headers, body, status) => {
    const { host, hostname, port } = new URL(door.url);
    const socket = connect(Number(port), hostname);
    let said = "";
    socket.on("data", (data) => {
      said += data.toString("latin1");
    });
    socket.on("error", ({ message }) => {
      said += `HTTP/1.1 ${message}`;
    });
    const ask = (line: string, more: object) => {
      const lines = Object.entries({ host, ...own, ...more }).map(([name, value]) => `${name}: ${value}`);
      socket.write(`${line} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    };
    ask(`POST ${path}`, { ...headers, "content-length": body.length });
    socket.write(body);
    ask("GET /health", {});
    const answers = () => [...said.matchAll(/HTTP\/1\.1 (\w+)/g)].map(([, word]) => word);
    await expect.poll(answers, { timeout: 60_000 }).toEqual([status, "204"]);
    socket.destroy();
  });
});
