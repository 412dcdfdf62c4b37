import { EventEmitter } from "node:events";
import type { Principal } from "@sandboxer/contract";
import { expect, it } from "vitest";
import type { WebSocket } from "ws";
import { serveExecSocket } from "./exec-socket.ts";

const OPEN = 1;
const CLOSED = 3;

/** A client that leaves while its command is being started, where it is told to. */
async function serve(leaves: boolean) {
  const done: string[] = [];
  const socket = Object.assign(new EventEmitter(), {
    OPEN,
    readyState: OPEN,
    send: () => {},
    close: () => {},
  });
  const leave = () => {
    socket.readyState = CLOSED;
    socket.emit("close");
  };
  const process = {
    id: "p1",
    detach: () => void done.push("detached"),
    events: (async function* () {})(),
  };
  const ground = {
    core: {
      async exec() {
        if (leaves) leave();
        return process;
      },
    },
    processes: { hold: () => () => void done.push("released") },
  };
  const call = { ground, principal: {} as Principal, sandbox: "a", report: () => ({}) };
  const serving = serveExecSocket(
    socket as unknown as WebSocket,
    call as unknown as Parameters<typeof serveExecSocket>[1],
  );
  socket.emit("message", Buffer.from('{"type":"exec","request":{"argv":["true"]}}'), false);
  await serving;
  if (!leaves) leave();
  return done.toSorted();
}

it.each([
  ["while its command is being started", true],
  ["afterwards (control)", false],
])("lets go of the process of a client that leaves %s", async (_, leaves) => {
  expect(await serve(leaves)).toEqual(["detached", "released"]);
});
