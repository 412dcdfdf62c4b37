const MOST_AT_ONCE = 100;
const A_SECOND = 10;

/**
 * Telling takes a handshake, and resetting takes nothing: who is denied more often than this is
 * reset, so that nobody's denials are work for the guard.
 */
export class Explanations {
  #left = MOST_AT_ONCE;
  #atMs = 0;

  mayTell(nowMs: number): boolean {
    const back = (Math.max(0, nowMs - this.#atMs) / 1_000) * A_SECOND;
    this.#left = Math.min(MOST_AT_ONCE, this.#left + back);
    this.#atMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
