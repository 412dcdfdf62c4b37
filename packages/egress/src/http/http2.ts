import type { Duplex } from "node:stream";

/** How every connection in HTTP/2 begins, up to its first empty line. */
export const PREFACE = "PRI * HTTP/2.0";

const [SETTINGS, GOAWAY] = [4, 7];
const HTTP_1_1_REQUIRED = 13;
/** Who still sends hears the answer only then. */
const PATIENCE_MS = 5_000;
const MOST_LATE_BYTES = 1_048_576;

function frame(kind: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = kind;
  return Buffer.concat([head, payload]);
}

/** Says no in HTTP/2, which takes a greeting and one frame that has room for the reason. The connection ends. */
export function refuseHttp2(client: Duplex, reason: string): void {
  const why = Buffer.alloc(8);
  why.writeUInt32BE(HTTP_1_1_REQUIRED, 4);
  client.end(
    Buffer.concat([
      frame(SETTINGS, Buffer.alloc(0)),
      frame(GOAWAY, Buffer.concat([why, Buffer.from(reason)])),
    ]),
  );
  let left = MOST_LATE_BYTES;
  const timer = setTimeout(() => client.destroy(), PATIENCE_MS);
  client.once("close", () => clearTimeout(timer));
  client.removeAllListeners("readable");
  client.on("data", ({ length }: Buffer) => {
    left -= length;
    if (left < 0) client.destroy();
  });
}
