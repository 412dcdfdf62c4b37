/** What a stream carries: text, and between two texts what its runner wrote behind a mark. */
export type Piece = { readonly text: string } | { readonly behind: RegExpExecArray };

/**
 * Cuts a stream at the lines that a mark begins. A cell can read the mark and write it too, so each
 * letter is looked at a fixed number of times, whatever a line holds: a line that takes another form,
 * or is longer than any of a runner's, is text.
 */
export function cutting(mark: string, form: RegExp, longest: number): (text: string) => Piece[] {
  /** What may be the beginning of a mark waits for the rest of it. */
  let tail = "";
  /** What has come of a line since its mark, put together once. */
  let parts: string[] | undefined;
  let length = 0;

  function until(text: string): [Piece[], string] {
    const whole = tail + text;
    const at = whole.indexOf(mark);
    if (at >= 0) {
      tail = "";
      parts = [];
      length = 0;
      return [texts(whole.slice(0, at)), whole.slice(at + mark.length)];
    }
    tail = beginningOf(mark, whole);
    return [texts(whole.slice(0, whole.length - tail.length)), ""];
  }

  function behind(text: string, held: string[]): [Piece[], string] {
    const end = text.indexOf("\n");
    held.push(end < 0 ? text : text.slice(0, end));
    length += text.length;
    if (end < 0 && length <= longest) return [[], ""];
    const line = mark + held.join("");
    // A cell that wrote the mark has not ended its line: the runner's own is the last one.
    const last = line.lastIndexOf(mark);
    parts = undefined;
    if (end < 0) {
      tail = last > 0 ? "" : beginningOf(mark, line);
      if (last === 0) return [texts(line.slice(0, line.length - tail.length)), ""];
      parts = [line.slice(last + mark.length)];
      length = line.length - last;
      return [texts(line.slice(0, last)), ""];
    }
    const rest = text.slice(end + 1);
    const found = form.exec(line.slice(last + mark.length));
    return [found ? [...texts(line.slice(0, last)), { behind: found }] : texts(`${line}\n`), rest];
  }

  return (text) => {
    const pieces: Piece[] = [];
    for (let rest = text; rest !== ""; ) {
      const [found, left] = parts ? behind(rest, parts) : until(rest);
      pieces.push(...found);
      rest = left;
    }
    return pieces;
  };
}

const texts = (text: string): Piece[] => (text === "" ? [] : [{ text }]);

/** What of a mark stands at the end of a text. */
function beginningOf(mark: string, text: string): string {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(mark.slice(0, length))) return text.slice(-length);
  }
  return "";
}
