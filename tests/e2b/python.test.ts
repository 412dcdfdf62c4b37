import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";
import { saidBy } from "./saying.ts";

const { describe, given } = await requires("linux-userns", "boxd", "python-e2b");

/** What a machine's DNS would do: names below `localhost` are this machine. */
const RESOLVER = `
import socket
ask = socket.getaddrinfo
def answer(host, *more, **named):
    name = host.decode() if isinstance(host, bytes) else host
    return ask("127.0.0.1" if name and name.endswith(".localhost") else host, *more, **named)
socket.getaddrinfo = answer
`;

describe("E2B's own package for Python", () => {
  let door: Door;

  beforeAll(async () => {
    door = await openDoor();
  });
  afterAll(() => door?.close());

  const program = fileURLToPath(new URL("program.py", import.meta.url));
  const runs = async (variables: Record<string, string>) => {
    const env = { PATH: process.env.PATH, ...variables };
    const { stdout } = await saidBy(given["python-e2b"].python, [program], env);
    return JSON.parse(stdout);
  };
  const told = {
    ran: ["hello\n", 0],
    failed: 3,
    input: "typed\n",
    files: ["one", "two"],
    read: "eins",
    events: true,
    signed: "eins",
    listed: true,
    paused: [false, true],
    terminal: true,
    killed: [true, false, false],
    not_waiting: "async\n",
  };

  it("runs a program as it is, waiting and not waiting", async () => {
    expect(await runs(door.variables)).toEqual(told);
  }, 300_000);

  it("runs it by names and TLS on the same port", async () => {
    await writeFile(join(door.home, "sitecustomize.py"), RESOLVER);
    const certificate = join(door.home, "tls.pem");
    const named = await runs({
      E2B_API_KEY: door.gateway.apiKey,
      E2B_DOMAIN: `preview.localhost:${new URL(door.url).port}`,
      SSL_CERT_FILE: certificate,
      PYTHONPATH: door.home,
    });
    expect(named).toEqual(told);
  }, 300_000);
});
