import { type Exchange, header } from "../exchange.ts";

const DEFAULT_S = 90;
const LONGEST_S = 3_600;

/** How long a stream may be silent before it says that it is there: as its client asks, where that is a time. */
export function silenceMs(exchange: Pick<Exchange, "incoming">): number {
  const seconds = Number(header(exchange, "keepalive-ping-interval") ?? DEFAULT_S);
  return (seconds > 0 && seconds <= LONGEST_S ? seconds : DEFAULT_S) * 1_000;
}
