// Calls a method of gRPC in both directions at once: each word is said when the one before was answered.
import { readFileSync } from "node:fs";
import { connect } from "node:http2";

const [address = "", ...words] = process.argv.slice(2);
const ca = address.startsWith("https:")
  ? ["/home/user/lab.pem", process.env.SSL_CERT_FILE].flatMap((path) => (path ? [readFileSync(path)] : []))
  : undefined;
/** @type {{ heard: string[], goaway?: [number, string | undefined], status?: unknown, error?: string }} */
const told = { heard: [] };
const session = connect(address, { ca });
const over = () => {
  console.log(JSON.stringify(told));
  process.exit();
};
setTimeout(() => {
  told.error = "nothing comes";
  over();
}, 50_000);
session.on("goaway", (code, _, why) => {
  told.goaway = [code, why?.toString()];
});
session.on("error", (error) => {
  told.error = String("code" in error ? error.code : error);
});
session.on("close", over);

const call = session.request({
  ":method": "POST",
  ":path": "/lab.Echo/Talk",
  "content-type": "application/grpc",
  te: "trailers",
});
const say = () => {
  const word = words.shift();
  if (word === undefined) return call.end();
  const head = Buffer.alloc(5);
  head.writeUInt32BE(Buffer.byteLength(word), 1);
  call.write(Buffer.concat([head, Buffer.from(word)]));
};
let bytes = Buffer.alloc(0);
call.on("data", (part) => {
  bytes = Buffer.concat([bytes, part]);
  while (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) {
    const end = 5 + bytes.readUInt32BE(1);
    told.heard.push(bytes.toString("utf8", 5, end));
    bytes = bytes.subarray(end);
    say();
  }
});
call.on("trailers", (trailers) => {
  told.status = trailers["grpc-status"];
});
call.on("error", () => {});
call.on("close", () => session.close());
say();
