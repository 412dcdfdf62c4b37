import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { SandboxerError } from "@sandboxer/contract";

/** What is broken, or cut off, is the sender's mistake, whenever it is found. */
export async function* gunzipped(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  // Told to whoever reads; one who has left already needs no word of it.
  gunzip.on("error", () => {});
  pipeline(source, gunzip, () => {});
  try {
    yield* gunzip;
  } catch (cause) {
    if (SandboxerError.is(cause)) throw cause;
    throw new SandboxerError("invalid_request", "what was sent is not whole, or not gzip", { cause });
  }
}
