import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { destinationOf } from "./authority.ts";
import { BadRequest, framingOf, type Head, hopByHop, parseHead } from "./head.ts";
import { Incoming } from "./incoming.ts";

const head = (...lines: string[]) => parseHead(Buffer.from(lines.join("\r\n"), "latin1"));
const whole = (lines: string[]): Head => {
  const parsed = head(...lines);
  framingOf(parsed);
  hopByHop(parsed);
  destinationOf(parsed, "https", { host: "a.test", port: 443 });
  return parsed;
};
const first = "POST /x HTTP/1.1";
const host = "Host: a.test";

describe("EG-13 a request that can be read in two ways", () => {
  it("is not one that can be read in one", () => {
    expect(whole([first, host, "Content-Length: 5", "X-Y: a:b  "]).headers).toEqual([
      ["Host", "a.test"],
      ["Content-Length", "5"],
      ["X-Y", "a:b"],
    ]);
    expect(whole([first, "host: A.test:443", "transfer-encoding: Chunked"]).method).toBe("POST");
  });

  it.each([
    [[first, host, "Content-Length: 5", "Transfer-Encoding: chunked"]],
    [[first, host, "Content-Length: 5", "Content-Length: 5"]],
    [[first, host, "Content-Length: 5, 5"]],
    [[first, host, "Content-Length: +5"]],
    [[first, host, "Content-Length: 0x5"]],
    [[first, host, "Content-Length: -1"]],
    [[first, host, "Transfer-Encoding: xchunked"]],
    [[first, host, "Transfer-Encoding: chunked, identity"]],
    [[first, host, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"]],
    [["POST /x HTTP/1.0", host, "Transfer-Encoding: chunked"]],
    [[first, host, "Content-Length : 5"]],
    [[first, host, "Content-Length\t: 5"]],
    [[first, host, " folded"]],
    [[first, host, "\tfolded"]],
    [[first, host, "X: a\nContent-Length: 5"]],
    [[first, host, "X: a\rY: b"]],
    [[first, host, "X: a\0b"]],
    [[first, host, "X: a\n"]],
    [[first, host, "X: a\r"]],
    [[first, host, "X:\n a"]],
    [[first, host, "Transfer-Encoding:\vchunked"]],
    [[first, host, "Content-Length: 5\f"]],
    [[first, host, "no colon"]],
    [[first, host, ": empty"]],
    [[first, host, "Connection: close, Content-Length"]],
    [[first, host, "Connection: host"]],
    [[first, host, "Connection: Authorization"]],
    [[first, host, host]],
    [[first]],
    [[first, "Host: b.test"]],
    [[first, "Host: a.test@b.test"]],
    [[first, "Host: a.test:80"]],
    [["POST  /x HTTP/1.1", host]],
    [["POST /x  HTTP/1.1", host]],
    [["POST /x HTTP/1.1 ", host]],
    [[" POST /x HTTP/1.1", host]],
    [["post /x HTTP/1.1", host]],
    [["POST /x HTTP/2.0", host]],
    [["POST /x", host]],
    [["POST http://a.test/ HTTP/1.1", host]],
    [["POST //b.test/ HTTP/1.1", host]],
    [["POST /a\tb HTTP/1.1", host]],
    [["OPTIONS * HTTP/1.1", host]],
  ])("is refused: %j", (lines) => {
    expect(() => whole(lines as string[])).toThrow(BadRequest);
  });

  it("never parses in a way that is written differently", () => {
    const piece = fc.constantFrom(
      "A",
      "/x",
      " ",
      "\t",
      "\r",
      "\n",
      "\r\n",
      ":",
      "HTTP/1.1",
      "Host",
      "a.test",
      "\0",
      "é",
    );
    fc.assert(
      fc.property(
        fc.constantFrom("", "A /x HTTP/1.1\r\nHost:"),
        fc.array(piece, { maxLength: 20 }),
        (start, pieces) => {
          const text = start + pieces.join("");
          let parsed: Head;
          try {
            parsed = parseHead(Buffer.from(text, "latin1"));
          } catch (error) {
            expect(error).toBeInstanceOf(BadRequest);
            return;
          }
          const lines = [
            `${parsed.method} ${parsed.target} ${parsed.version}`,
            ...parsed.headers.map(([n, v]) => `${n}:${v}`),
          ];
          const written = text
            .split("\r\n")
            .map((line) => line.replace(/^([^:]*):[ \t]*/, "$1:").replace(/[ \t]*$/, ""));
          expect(written.join("\r\n")).toBe(lines.join("\r\n"));
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

describe("EG-13 a body", () => {
  const bodyOf = async (kind: "chunked" | "length", text: string, cut: number, bytes = 0) => {
    const socket = new PassThrough();
    socket.write(text.slice(0, cut));
    setImmediate(() => socket.end(text.slice(cut)));
    const parts: Buffer[] = [];
    const framing = kind === "chunked" ? { kind } : { kind, bytes };
    for await (const part of new Incoming(socket).body(framing)) parts.push(part);
    return Buffer.concat(parts).toString();
  };

  it("is the same wherever it is cut", async () => {
    const text = "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
    for (let cut = 0; cut <= text.length; cut += 1)
      expect(await bodyOf("chunked", text, cut)).toBe("hello world");
    for (let cut = 0; cut <= 11; cut += 1)
      expect(await bodyOf("length", "hello world", cut, 11)).toBe("hello world");
  });

  it.each([
    "5;ext=1\r\nhello\r\n0\r\n\r\n",
    "5 \r\nhello\r\n0\r\n\r\n",
    "0x5\r\nhello\r\n0\r\n\r\n",
    "+5\r\nhello\r\n0\r\n\r\n",
    "5\nhello\n0\n\n",
    "4\r\nhello\r\n0\r\n\r\n",
    "6\r\nhello\r\n0\r\n\r\n",
    "100000005\r\nhello\r\n0\r\n\r\n",
    "0\r\nX-Trailer: a\r\n\r\n",
    "5\r\nhello\r\n",
    "\r\n",
  ])("is refused where its pieces do not fit: %j", async (text) => {
    await expect(bodyOf("chunked", text, 3)).rejects.toBeInstanceOf(BadRequest);
  });
});
