import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** Calls when the answer is out or the client has left: at once where that was before anybody asked. */
export function whenOver(outgoing: ServerResponse | Duplex, done: () => void): void {
  if (outgoing.closed) done();
  else outgoing.once("close", done);
}
