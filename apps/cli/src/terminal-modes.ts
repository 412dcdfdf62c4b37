/** The longest beginning of a sequence that may wait for its end in the next part. */
const MOST_UNREAD = 64;

/** What a terminal has without being asked: lines wrap, and the cursor is seen. */
const ON_BY_ITSELF: ReadonlySet<number> = new Set([7, 25]);
/** The other screens. They are left last, with the cursor where it was before. */
const SCREENS: ReadonlySet<number> = new Set([47, 1047, 1049]);

// biome-ignore lint/suspicious/noControlCharactersInRegex: what is read here begins with one
const SEQUENCE = /\x1b(?:\[([?<>]?)([\d;]*)(!|\x20)?([A-Za-z])|([=>c]))/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same
const BEGINNING = /\x1b(?:\[[?<>]?[\d;]*[!\x20]?)?$/;

/**
 * Follows what a program asks of its terminal, to take it back when the program is cut off and cannot:
 * the other screen, a hidden cursor, keys and a mouse that speak in sequences.
 */
export class TerminalModes {
  readonly #asked = new Map<number, boolean>();
  #unread = "";
  #keypad = false;
  #keys = false;
  #pushed = 0;
  #region = false;
  #cursor = false;
  #paint = false;

  /** Bytes as they come: a sequence may be cut anywhere. */
  read(data: Uint8Array): void {
    // A sequence is ASCII, so every byte may be its own character.
    const text = this.#unread + Buffer.from(data.buffer, data.byteOffset, data.length).toString("latin1");
    for (const [, kind, numbers = "", between = "", final = "", alone] of text.matchAll(SEQUENCE)) {
      if (alone === "c") this.#forget();
      else if (alone) this.#keypad = alone === "=";
      else this.#obey(`${kind}${between}${final}`, numbers);
    }
    const [beginning = ""] = BEGINNING.exec(text.slice(-MOST_UNREAD)) ?? [];
    this.#unread = beginning;
  }

  /** What puts the terminal back, and nothing that was not asked of it. */
  takenBack(): string {
    const left = [...this.#asked].filter(([mode, on]) => on !== ON_BY_ITSELF.has(mode));
    const back = (mode: number) => `\x1b[?${mode}${ON_BY_ITSELF.has(mode) ? "h" : "l"}`;
    const screens = left.filter(([mode]) => SCREENS.has(mode)).map(([mode]) => back(mode));
    const others = left.filter(([mode]) => !SCREENS.has(mode)).map(([mode]) => back(mode));
    return [
      ...others,
      this.#keypad ? "\x1b>" : "",
      this.#keys ? "\x1b[>4m" : "",
      this.#pushed > 0 ? `\x1b[<${this.#pushed}u` : "",
      this.#cursor ? "\x1b[0 q" : "",
      ...screens,
      // To have all lines scroll again moves the cursor, which is remembered meanwhile.
      this.#region ? "\x1b7\x1b[r\x1b8" : "",
      this.#paint ? "\x1b[m" : "",
    ].join("");
  }

  #obey(what: string, numbers: string): void {
    switch (what) {
      case "?h":
      case "?l":
        // There are none beyond four digits, and nobody is to fill this with what there is not.
        for (const [mode] of numbers.matchAll(/(?<!\d)\d{1,4}(?!\d)/g))
          this.#asked.set(Number(mode), what === "?h");
        break;
      case ">m":
        this.#keys = /^4;[1-9]/.test(numbers);
        break;
      case "m":
        this.#paint = !/^0?$/.test(numbers);
        break;
      case ">u":
        this.#pushed += 1;
        break;
      case "<u":
        this.#pushed = Math.max(0, this.#pushed - (Number(numbers) || 1));
        break;
      case "r":
        this.#region = numbers !== "";
        break;
      case " q":
        this.#cursor = numbers !== "" && numbers !== "0";
        break;
    }
  }

  #forget(): void {
    this.#asked.clear();
    this.#keypad = this.#keys = this.#region = this.#cursor = this.#paint = false;
    this.#pushed = 0;
  }
}
