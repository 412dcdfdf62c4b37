import type { Readable, Writable } from "node:stream";

/** JSON, one value a line: how the guard speaks with the gateway on one side and the relay on the other. */
export function readLines(from: Readable, take: (message: Record<string, unknown>) => void): void {
  let rest = "";
  from.setEncoding("utf8");
  from.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(JSON.parse(line) as Record<string, unknown>);
  });
}

export function writeLine(to: Writable, message: object): void {
  if (to.writable) to.write(`${JSON.stringify(message)}\n`);
}

/** Says what comes before its turn, all in one piece: each piece wakes whoever hears it. */
export function sayTogether(to: Writable, later: (turn: () => void) => void) {
  let waiting = "";
  const flush = (): void => {
    const text = waiting;
    waiting = "";
    if (text && to.writable) to.write(text);
  };
  const say = (message: object): void => {
    if (!waiting) later(flush);
    waiting += `${JSON.stringify(message)}\n`;
  };
  return { say, flush };
}
