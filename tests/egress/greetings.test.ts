import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { greeting, hiddenName, names } from "./lab/greeting.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, converse, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 120_000 });

const NAME = "api.allowed.test";
const HANDSHAKE = 22;

describe("EG-10 TLS is for the host that was asked for", () => {
  let bench: Bench;
  let unread: Sandbox;
  let read: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of [NAME, "evil.test"]) await bench.lab.name(name, [WORLD]);
    unread = await bench.sandbox({ rules: [{ host: NAME, ports: [443, 8444] }] });
    read = await bench.sandbox({ rules: [{ host: NAME, paths: ["/v1/**"] }] });
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const reached = async () => (await bench.lab.look()).records.filter(({ kind }) => kind !== "dns");
  /** Both by its name and through the proxy. */
  const greet = (sandbox: Sandbox, words: string) =>
    converse(sandbox, [
      { host: NAME, port: 443, pieces: [words] },
      { host: "198.18.0.1", port: 3128, pieces: [`CONNECT ${NAME}:443 HTTP/1.1\r\n\r\n`, words] },
    ]);

  const GREETINGS: Record<string, string> = {
    "names another host": greeting([names("evil.test")]),
    "names a twin": greeting([names(`${NAME}.evil.test`)]),
    "names nobody": greeting([]),
    "names two in one breath": greeting([names(NAME, "evil.test")]),
    "names two, one after the other": greeting([names(NAME), names("evil.test")]),
    "names two, in tiny records": greeting([names(NAME), names("evil.test")], 3),
    "names another, split between records": greeting([names("evil.test")], 60),
    "hides a name": greeting([names(NAME), hiddenName]),
    "hides its only name": greeting([hiddenName]),
    "is none": "GET / HTTP/1.1\r\n\r\n",
  };
  it.each(Object.entries(GREETINGS))(
    "a greeting that %s gets no further, read or unread",
    async (_, words) => {
      for (const sandbox of [unread, read]) {
        for (const { heard } of await greet(sandbox, words)) {
          const said = heard.filter((one) => !one.startsWith("HTTP/1.1 200 Connection established")).join("");
          expect(said, "no handshake, an alert at most").not.toSatisfy(
            (text: string) => text.charCodeAt(0) === HANDSHAKE,
          );
        }
      }
      expect(await reached()).toEqual([]);
    },
  );

  it.each([16_000, 60, 3, 1])("control: one that names it arrives, in records of %i bytes", async (size) => {
    await greet(unread, greeting([names("API.allowed.TEST")], size));
    expect((await reached()).map(({ kind }) => kind)).toEqual(["connection", "connection"]);
  });

  it("where requests are read, each of them is for that host", async () => {
    const script = `
import socket, ssl
def ask(words, protocols=None):
    context = ssl.create_default_context()
    if protocols: context.set_alpn_protocols(protocols)
    with socket.create_connection(("${NAME}", 443), 10) as plain:
        with context.wrap_socket(plain, server_hostname="${NAME}") as one:
            one.settimeout(10)
            one.sendall(words)
            got = one.recv(65536)
            said = "goes away" if got[3:4] == b"\\x04" and got[12:13] == b"\\x07" else got[:12].decode()
            return f"{one.selected_alpn_protocol()} {said}"
get = lambda host: f"GET /v1/x HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode()
print(ask(get("${NAME}")))
print(ask(get("evil.test")))
print(ask(get("${NAME}:8443")))
print(ask(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes(9), ["h2", "http/1.1"]))
print(ask(get("${NAME}") + get("evil.test"), ["http/1.1"]))
print(ask(b"CONNECT evil.test:443 HTTP/1.1\\r\\nHost: evil.test:443\\r\\n\\r\\n"))
print(ask(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n", ["h2"]))
try: print(ask(get("${NAME}"), ["exotic"]))
except OSError: print("none of these")`;
    const { stdout, stderr } = await read.run(["python3", "-c", script]);
    expect({ out: text(stdout).split("\n"), err: text(stderr) }).toEqual({
      out: [
        "None HTTP/1.1 200",
        "None HTTP/1.1 400",
        "None HTTP/1.1 400",
        "http/1.1 goes away",
        "http/1.1 HTTP/1.1 200",
        "None HTTP/1.1 400",
        "h2 goes away",
        "none of these",
        "",
      ],
      err: "",
    });
    const requests = (await reached()).filter(({ kind }) => kind === "request");
    expect(requests.map(({ headers }) => headers?.[1])).toEqual([NAME, NAME]);
  });

  it("HTTP/2 is carried unread to the host that was asked for", async () => {
    const curl = ["curl", "-sS", "--http2", "--cacert", "/home/user/lab.pem", "--max-time", "20"];
    const { stdout, stderr } = await unread.run([...curl, "-w", "%{http_version}", `https://${NAME}:8444/x`]);
    expect({ out: text(stdout), err: text(stderr) }).toEqual({ out: `hello from ${NAME}:8444\n2`, err: "" });
    expect((await reached()).at(-1)).toMatchObject({ kind: "request", what: "HTTP/2 GET /x" });
  });
});
