import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, probe } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

const HOST = "api.allowed.test";
const POST = `POST /x HTTP/1.1\r\nHost: ${HOST}\r\n`;

describe("requests that could be read in two ways", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    await bench.lab.name(HOST, [WORLD]);
    sandbox = await bench.sandbox({ rules: [{ host: HOST, protocol: "http", paths: ["/x"] }] });
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const say = async (payload: string) => {
    const [answer] = await probe(sandbox, { op: "tcp", to: [[HOST, 80]], payload, wait: 1.5 });
    const { records } = await bench.lab.look();
    return {
      answer: answer?.got?.split("\r\n")[0] ?? "",
      reached: records.filter(({ kind }) => kind !== "dns"),
    };
  };

  it("a plain one gets through (negative control)", async () => {
    const { answer, reached } = await say(`${POST}Content-Length: 5\r\n\r\nhello`);
    expect(answer).toBe("HTTP/1.1 200 OK");
    expect(reached.at(-1)).toMatchObject({ what: "POST /x", body: "hello" });
  });

  it.each([
    ["two lengths", `${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`],
    ["a length and chunks", `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ["chunks of another kind", `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ["a space before the colon", `${POST}Content-Length : 5\r\n\r\nhello`],
    ["a line feed alone", `${POST}X: a\nContent-Length: 5\r\n\r\nhello`],
    ["a folded header", `${POST}X: a\r\n b\r\nContent-Length: 0\r\n\r\n`],
    [
      "a chunk size that overflows",
      `${POST}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx\r\n0\r\n\r\n`,
    ],
    ["an extension of a chunk", `${POST}Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\n\r\n`],
    ["a trailer", `${POST}Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n`],
    ["a header that hides another", `${POST}Connection: close, Content-Length\r\nContent-Length: 0\r\n\r\n`],
    ["two hosts", `${POST}Host: evil.test\r\nContent-Length: 0\r\n\r\n`],
    ["another host", "POST /x HTTP/1.1\r\nHost: evil.test\r\nContent-Length: 0\r\n\r\n"],
    [
      "a target with a host",
      `POST http://evil.test/x HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 0\r\n\r\n`,
    ],
    ["a target that begins like a host", `POST //evil.test/x HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    ["a tunnel within", `CONNECT evil.test:443 HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
    ["a trace", `TRACE /x HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
  ])("EG-12 EG-13 %s: refused before a byte of it is sent on", async (_, payload) => {
    const { answer, reached } = await say(payload);
    expect({ answer, reached }).toEqual({ answer: "HTTP/1.1 400 Bad Request", reached: [] });
  });

  it("EG-12 dots in a path are resolved before it is judged, and it is sent as it was judged", async () => {
    const inside = await say(`GET /a/%2e%2e/x HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
    expect(inside.reached.at(-1)).toMatchObject({ what: "GET /x" });
    await bench.lab.clear();
    const outside = await say(`GET /x/../admin HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
    expect(outside).toEqual({ answer: "HTTP/1.1 403 Forbidden", reached: [] });
  });

  it("EG-13 what follows a request on its connection is a request of its own", async () => {
    const { reached } = await say(
      `${POST}Content-Length: 0\r\n\r\nGET /admin HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`,
    );
    expect(reached.filter(({ kind }) => kind === "request").map(({ what }) => what)).toEqual(["POST /x"]);
  });
});
