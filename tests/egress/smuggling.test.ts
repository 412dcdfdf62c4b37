import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, probe } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

const HOST = "api.allowed.test";
/** What may be reached there only through TLS, or not at all. */
const TLS = "tls.allowed.test";
/** Where each request says something that the program does not. */
const MARKED = "marked.allowed.test";
const POST = `POST /x HTTP/1.1\r\nHost: ${HOST}\r\n`;

describe("requests that could be read in two ways", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    await bench.lab.name(HOST, [WORLD]);
    await bench.lab.name(TLS, [WORLD]);
    await bench.lab.name(MARKED, [WORLD]);
    const clear = { protocol: "http" as const };
    sandbox = await bench.sandbox({
      rules: [
        { host: HOST, ...clear, paths: ["/x"] },
        { host: TLS, ports: [443, 7000] },
        { host: TLS, ...clear },
        { host: MARKED, ...clear, headers: { "X-Tenant": "ours" } },
        { host: TLS, protocol: "tcp", ports: [80], effect: "deny" },
      ],
    });
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  /** Hears as much as is said before so many seconds of silence, or before the end. */
  const say = async (payload: string, to = [HOST, 80], wait = 3) => {
    const [answer] = await probe(sandbox, { op: "tcp", to: [to], payload, wait });
    const { records } = await bench.lab.look();
    return {
      answer: answer?.got?.split("\r\n")[0] ?? "",
      reached: records.filter(({ kind }) => kind !== "dns"),
      isClosed: answer?.closed,
    };
  };

  it("a plain one gets through (negative control)", async () => {
    const { answer, reached, isClosed } = await say(`${POST}Content-Length: 5\r\n\r\nhello`);
    expect({ answer, isClosed }).toEqual({ answer: "HTTP/1.1 200 OK", isClosed: false });
    expect(reached.at(-1)).toMatchObject({ what: "POST /x", body: "hello" });
  });

  it("a header that a rule writes cannot be taken out by the program", async () => {
    const marked = (more: string) => say(`GET / HTTP/1.1\r\nHost: ${MARKED}\r\n${more}\r\n`, [MARKED, 80]);
    for (const hiding of ["Connection: X-Tenant\r\n", "Connection: close\r\nConnection: a, x-tenant\r\n"]) {
      expect(await marked(hiding)).toMatchObject({ answer: "HTTP/1.1 400 Bad Request", reached: [] });
    }
    const control = await marked("Connection: close, x-other\r\nX-Other: 1\r\nX-Tenant: mine\r\n");
    expect(control.answer).toBe("HTTP/1.1 200 OK");
    const headers = control.reached.at(-1)?.headers ?? [];
    expect(headers.slice(headers.indexOf("X-Tenant")).slice(0, 2)).toEqual(["X-Tenant", "ours"]);
    expect(headers).not.toContain("mine");
  });

  it.each([
    ["two lengths", `${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`],
    ["a length and chunks", `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ["chunks of another kind", `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ["a space before the colon", `${POST}Content-Length : 5\r\n\r\nhello`],
    ["a tab before the colon", `${POST}Content-Length\t: 5\r\n\r\nhello`],
    ["a line feed alone", `${POST}X: a\nContent-Length: 5\r\n\r\nhello`],
    ["a line feed at the end of a header", `POST /x HTTP/1.1\r\nHost: ${HOST}\n\r\nX: a\r\n\r\n`],
    ["a carriage return at the end of a header", `POST /x HTTP/1.1\r\nHost: ${HOST}\r\r\nX: a\r\n\r\n`],
    ["chunks after a vertical tab", `${POST}Transfer-Encoding:\vchunked\r\n\r\n0\r\n\r\n`],
    ["chunks of no kind", `${POST}Transfer-Encoding: identity\r\n\r\n`],
    ["a folded header", `${POST}X: a\r\n b\r\nContent-Length: 0\r\n\r\n`],
    [
      "a chunk size that overflows",
      `${POST}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx\r\n0\r\n\r\n`,
    ],
    ["an extension of a chunk", `${POST}Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\n\r\n`],
    [
      "a long extension of a chunk",
      `${POST}Transfer-Encoding: chunked\r\n\r\n5;${"a".repeat(20_000)}\r\nhello\r\n0\r\n\r\n`,
    ],
    ["chunks, twice said", `${POST}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`],
    ["a length that is signed", `${POST}Content-Length: +5\r\n\r\nhello`],
    ["a trailer", `${POST}Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n`],
    ["a header that hides another", `${POST}Connection: close, Content-Length\r\nContent-Length: 0\r\n\r\n`],
    ["two hosts", `${POST}Host: evil.test\r\nContent-Length: 0\r\n\r\n`],
    ["another host", "POST /x HTTP/1.1\r\nHost: evil.test\r\nContent-Length: 0\r\n\r\n"],
    [
      "a target with a host",
      `POST http://evil.test/x HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 0\r\n\r\n`,
    ],
    ["a target that begins like a host", `POST //evil.test/x HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    ["a user in the target", `POST http://${HOST}@evil.test/x HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    ["a user in the host", `POST /x HTTP/1.1\r\nHost: ${HOST}@evil.test\r\n\r\n`],
    ["a tab in the target", `GET /x\t/admin HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    ["a carriage return in the target", `GET /x\r/admin HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    ["a second target", `GET /x /admin HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    ["dots with parameters", `GET /x/..;a=b/admin HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    ["a slash in disguise", `GET /x%2f..%2fadmin HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    [
      "another protocol by an upgrade",
      `GET /x HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n`,
    ],
    ["a tunnel within", `CONNECT evil.test:443 HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    ["a trace", `TRACE /x HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
  ])(
    "EG-12 EG-13 EG-16 %s: refused before a byte of it is sent on, and the connection is closed",
    async (_, payload) => {
      const { answer, reached, isClosed } = await say(payload);
      const refused = { answer: "HTTP/1.1 400 Bad Request", reached: [], isClosed: true };
      expect({ answer, reached, isClosed }).toEqual(refused);
    },
  );

  it("EG-16 another protocol by its preface is refused in its own words, and the connection is closed", async () => {
    const { answer, reached, isClosed } = await say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    expect({ reached, isClosed }).toEqual({ reached: [], isClosed: true });
    expect(answer).toContain("HTTP/2 is not read here");
  });

  const PROXY = ["198.18.0.1", 3128];
  it.each([
    ["another host than its header's", `GET http://evil.test/x HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    ["another scheme", `GET https://${HOST}/x HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    ["a user", `GET http://${HOST}@evil.test/x HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    ["a user of the same host", `GET http://user@${HOST}/x HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    ["another port", `GET http://${HOST}:8080/x HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    ["what a rule allows through TLS", `GET http://${TLS}:443/x HTTP/1.1\r\nHost: ${TLS}:443\r\n\r\n`],
    ["the same on another port", `GET http://${TLS}:7000/x HTTP/1.1\r\nHost: ${TLS}:7000\r\n\r\n`],
    ["what a rule denies unread", `GET http://${TLS}/x HTTP/1.1\r\nHost: ${TLS}\r\n\r\n`],
    ["no host at all", `GET /x HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
  ])("EG-9 EG-12 to the proxy, with %s: refused before a byte of it is sent on", async (_, payload) => {
    const { answer, reached } = await say(payload, PROXY, 20);
    expect(answer).toMatch(/^HTTP\/1\.1 40[03] /);
    expect(reached).toEqual([]);
  });

  it("EG-12 to the proxy, the path of the target is judged, and sent without its host (control)", async () => {
    const fine = await say(`GET http://${HOST}/a/../x HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`, PROXY);
    expect(fine.reached.at(-1)).toMatchObject({ what: "GET /x" });
    await bench.lab.clear();
    const not = await say(`GET http://${HOST}/admin HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`, PROXY);
    expect(not).toMatchObject({ answer: "HTTP/1.1 403 Forbidden", reached: [] });
  });

  it("EG-12 parameters are part of the path that is judged", async () => {
    const { answer, reached } = await say(`GET /x;a=b HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
    expect({ answer, reached }).toEqual({ answer: "HTTP/1.1 403 Forbidden", reached: [] });
  });

  it("EG-12 dots in a path are resolved before it is judged, and it is sent as it was judged", async () => {
    const inside = await say(`GET /a/%2e%2e/x HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
    expect(inside.reached.at(-1)).toMatchObject({ what: "GET /x" });
    await bench.lab.clear();
    const outside = await say(`GET /x/../admin HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
    expect(outside).toMatchObject({ answer: "HTTP/1.1 403 Forbidden", reached: [] });
  });

  it("EG-13 what follows a request on its connection is a request of its own", async () => {
    const { reached } = await say(
      `${POST}Content-Length: 0\r\n\r\nGET /admin HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`,
    );
    expect(reached.filter(({ kind }) => kind === "request").map(({ what }) => what)).toEqual(["POST /x"]);
  });
});
