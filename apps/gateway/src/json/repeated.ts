const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const COMMA = 0x2c;

/**
 * A name that one object of this text says twice. Readers differ in which of the two they take: what
 * somebody in between has judged by the first would be done by the last. Of text that is JSON already.
 */
export function repeatedName(json: string): string | undefined {
  /** Of each object that is open, what was named in it; of a list, nothing. */
  const open: (Set<string> | undefined)[] = [];
  let named: Set<string> | undefined;
  let isNext = false;
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfText(json, at);
        if (isNext && named) {
          const name = nameOf(json.slice(at, end + 1));
          if (named.has(name)) return name;
          named.add(name);
          isNext = false;
        }
        at = end;
        break;
      }
      case OPEN_OBJECT:
      case OPEN_LIST:
        isNext = json.charCodeAt(at) === OPEN_OBJECT;
        named = isNext ? new Set() : undefined;
        open.push(named);
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        open.pop();
        named = open.at(-1);
        isNext = false;
        break;
      case COMMA:
        isNext = named !== undefined;
    }
  }
  return undefined;
}

/** Where the text that begins here ends: at the first quote that nothing escapes. */
function endOfText(json: string, start: number): number {
  for (let at = start + 1; ; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE || Number.isNaN(code)) return at;
    if (code === BACKSLASH) at++;
  }
}

/** The same name can be written in many ways. */
function nameOf(quoted: string): string {
  return quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
}
