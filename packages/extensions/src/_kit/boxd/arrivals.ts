/** What most answers fit in; a connection that is idle has no more. */
const SMALL_BYTES = 8_192;
/** As much as boxd has on the way at once, or nearly. */
const LARGE_BYTES = 262_144;
/** Shorter ones are copied: whoever keeps one must not keep all that came around it. */
const COPIED_BYTES = 4_096;

/** Where the bytes of a socket arrive. */
export interface Arrivals {
  /** For the next read. */
  room(): Buffer;
  /** What has just arrived in the room. */
  take(length: number): Buffer;
}

/**
 * Node makes room for every read anew, at most 64 KiB, and cuts it to size. Here what comes in masses
 * is handed on as it lies, each piece behind the last, and one read takes all there is.
 */
export function createArrivals(): Arrivals {
  let room = Buffer.allocUnsafeSlow(SMALL_BYTES);
  let wasShort = false;
  return {
    room: () => room,
    take(length) {
      const arrived = room.subarray(0, length);
      if (length < COPIED_BYTES) {
        // Two in a row: the mass is over.
        if (wasShort && room.length > SMALL_BYTES) room = Buffer.allocUnsafeSlow(SMALL_BYTES);
        wasShort = true;
        return Buffer.from(arrived);
      }
      wasShort = false;
      const rest = room.subarray(length);
      if (rest.length >= SMALL_BYTES) room = rest;
      else room = Buffer.allocUnsafeSlow(rest.length === 0 ? LARGE_BYTES : SMALL_BYTES);
      return arrived;
    },
  };
}
