import type { Process, TerminalSize } from "@sandboxer/contract";
import { readEvents, readStarted } from "./events.ts";
import { strange } from "./failure.ts";
import { LineReader } from "./lines.ts";
import { createStdin } from "./stdin.ts";
import type { Transport } from "./transport.ts";

export interface RemoteProcess extends Process {
  /** Of the terminal it was given with `pty`. */
  resize(size: TerminalSize): Promise<void>;
}

/** The process behind an answer of `exec` or `attach`. */
export async function openProcess(
  transport: Transport,
  sandboxPath: string,
  response: Response,
): Promise<RemoteProcess> {
  if (!response.body) throw strange("the answer to exec has no body");
  const lines = new LineReader(response.body);
  const started = await readStarted(lines);
  const path = `${sandboxPath}/processes/${encodeURIComponent(started.process)}`;
  const stdin = createStdin((data, end) =>
    drained(transport.send("POST", `${path}/stdin`, { body: data, query: end ? { end: true } : {} })),
  );
  const events = readEvents(lines);
  return {
    id: started.process,
    ...(started.pid === undefined ? {} : { pid: started.pid }),
    events,
    writeStdin: stdin.write,
    closeStdin: stdin.end,
    detach: () => void events[Symbol.asyncIterator]().return?.(),
    async resize(size) {
      await drained(transport.send("POST", `${path}/resize`, { json: size }));
    },
    async signal(signal) {
      await drained(transport.send("POST", `${path}/signal`, { json: { signal } }));
    },
  };
}

/** An answer that is not read keeps its connection busy. */
export async function drained(sent: Promise<Response>): Promise<void> {
  await (await sent).arrayBuffer();
}
