type Work = () => void;

/**
 * What sandboxes give to do, one thing of each in turn: whoever gives much waits for itself. What
 * comes alone is done at once.
 */
export class Turns {
  readonly #waiting = new Map<string, Work[]>();
  readonly #served = new Set<string>();
  readonly #later: (next: Work) => void;

  constructor(later: (next: Work) => void = setImmediate) {
    this.#later = later;
  }

  take(sandbox: string, work: Work): void {
    if (!this.#served.has(sandbox)) return this.#serve(sandbox, work);
    const waiting = this.#waiting.get(sandbox);
    if (waiting) waiting.push(work);
    else this.#waiting.set(sandbox, [work]);
  }

  #serve(sandbox: string, work: Work): void {
    if (this.#served.size === 0) this.#later(() => this.#next());
    this.#served.add(sandbox);
    work();
  }

  #next(): void {
    this.#served.clear();
    for (const [sandbox, works] of [...this.#waiting]) {
      const work = works.shift();
      if (works.length === 0) this.#waiting.delete(sandbox);
      if (work) this.#serve(sandbox, work);
    }
  }
}
