import { isIP } from "node:net";
import { trapIn } from "../resolve.ts";
import { explain, isExplained } from "./explanation.ts";
import { hintFor } from "./hint.ts";
import type { DecidingParts } from "./parts.ts";
import type { RelayEvent } from "./relay.ts";
import type { Noted, Ward } from "./ward.ts";

export type Opened = Extract<RelayEvent, { event: "open" }>;

/** Written down, and told in whatever words the connection has for it. Nobody else hears of it. */
export function refuse(parts: DecidingParts, opened: Opened, call: Noted, ward?: Ward): void {
  const { diary, relay, tunnels } = parts;
  const { tunnel, sandbox, via } = opened;
  // Of an address it can be told without asking anybody.
  const trap = call.host && isIP(call.host) ? trapIn(call.host, [call.host], []) : undefined;
  diary.write(sandbox, { ...(trap && { cure: trap.cure }), ...call });
  const { reason = "denied", host = "" } = call;
  if (ward && isExplained(ward, call)) {
    tunnels.keep(ward, tunnel, { stillAllowed: () => true });
    return tunnels.read(tunnel, (socket) => void explain(socket, ward, host, reason));
  }
  const words = via === "http-proxy" ? `${reason}. ${hintFor(sandbox)}` : reason;
  relay.order({ op: "refuse", tunnel, reason: words });
}
