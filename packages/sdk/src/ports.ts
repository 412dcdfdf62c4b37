import type { Ports } from "@sandboxer/contract";
import { chunksOf } from "./chunks.ts";
import { strange } from "./failure.ts";
import { drained } from "./process.ts";
import { createStdin } from "./stdin.ts";
import type { Transport } from "./transport.ts";

/** A connection's output is one long answer; its input goes in requests of their own, in order. */
export function openPorts(transport: Transport, sandboxPath: string): Ports {
  return {
    async dial(port) {
      const path = `${sandboxPath}/ports/${encodeURIComponent(port)}/connections`;
      const response = await transport.send("POST", path);
      const id = response.headers.get("x-sandboxer-connection");
      const { data, cancel } = chunksOf(response);
      if (!id) {
        cancel();
        throw strange("the connection came without its id");
      }
      const input = createStdin((body, end) =>
        drained(transport.send("POST", `${path}/${id}/input`, { body, query: end ? { end: true } : {} })),
      );
      return { data, write: input.write, end: input.end, close: cancel };
    },
  };
}
