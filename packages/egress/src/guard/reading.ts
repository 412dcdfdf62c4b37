import { type Asked, type Decision, isSame } from "../policy/decide.ts";
import { type Inspected, inspect } from "./inspection.ts";
import { judgeConnection, judgeRequest } from "./judge.ts";
import { type Asking, serveLogins } from "./logins.ts";
import type { DecidingParts } from "./parts.ts";
import type { Noted } from "./ward.ts";

/** Every request of this connection is judged by itself. */
export function readRequests(
  parts: DecidingParts,
  tunnel: number,
  inspected: Inspected,
  decision?: Decision,
): void {
  const { tunnels, resolve, trust, misused, questions } = parts;
  const { ward, uid, place, binary } = inspected;
  const stillAllowed = () => {
    const wanted = place && { ...place, binary };
    if (wanted && decision && !isSame(decision, judgeConnection(ward, uid, wanted))) return false;
    return !inspected.asked || judgeRequest(ward, uid, inspected.asked).verdict !== "denied";
  };
  tunnels.keep(ward, tunnel, { stillAllowed });
  tunnels.charge(ward, tunnel, place);
  const charge = (asked: Asked) => tunnels.charge(ward, tunnel, asked);
  const given = { resolve, trust, note: noteIn(parts), misused, ask: questions.ask, charge };
  tunnels.read(tunnel, (socket) => void inspect(socket, inspected, given));
}

/** A program that has something signed. */
export function readLogins(parts: DecidingParts, tunnel: number, asking: Asking): void {
  const { tunnels, questions } = parts;
  tunnels.keep(asking.ward, tunnel, { stillAllowed: () => true });
  tunnels.charge(asking.ward, tunnel, undefined);
  const given = { note: noteIn(parts), ask: questions.ask };
  tunnels.read(tunnel, (socket) => void serveLogins(socket, asking, given));
}

const noteIn =
  ({ diary }: DecidingParts) =>
  (sandbox: string, call: Noted): void =>
    void diary.write(sandbox, call);
