import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Recorded } from "./lab.ts";

/** A message as gRPC writes it: whether it is packed, how long it is, and what it says. */
function framed(text: string): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(Buffer.byteLength(text), 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

/** Whatever is asked in HTTP/2. A call of gRPC is answered message by message, each when it comes. */
export function answerStream(
  record: (one: Recorded) => void,
): (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void {
  return (stream, headers) => {
    const what = `HTTP/2 ${headers[":method"]} ${headers[":path"]}`;
    stream.on("error", () => {});
    if (headers["content-type"] !== "application/grpc") {
      record({ kind: "request", what });
      return void stream.end(`hello from ${headers[":authority"]}\n`);
    }
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    let bytes = Buffer.alloc(0);
    stream.on("data", (part: Buffer) => {
      bytes = Buffer.concat([bytes, part]);
      for (;;) {
        const end = bytes.length < 5 ? Number.POSITIVE_INFINITY : 5 + bytes.readUInt32BE(1);
        if (bytes.length < end) return;
        const text = bytes.toString("utf8", 5, end);
        record({ kind: "request", what, body: text });
        stream.write(framed(`heard ${text}`));
        bytes = bytes.subarray(end);
      }
    });
    stream.on("end", () => stream.end());
  };
}
