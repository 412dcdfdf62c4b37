import { StringDecoder } from "node:string_decoder";
import { cutting } from "./marks.ts";

/** One line of E2B's answer. */
export type Line = {
  readonly type: string;
  readonly [member: string]: unknown;
  /** As its runner wrote it: a number of Python's that ends in `.0` is another one without it. */
  readonly [WRITTEN]?: string;
};
export const WRITTEN = Symbol("written");

/** Turns what a runner's streams carry into lines; `end_of_execution` is the last of a cell. */
export type Translator = (channel: "stdout" | "stderr", data: Uint8Array) => Line[];

const LONGEST_LINE = 64 << 20;
/** The number behind it. */
const LONGEST_MARK = 64;
const LINE_TOO_LONG: Line = {
  type: "error",
  name: "LineTooLong",
  value: `a line of the runner's of more than ${LONGEST_LINE >> 20} MiB was not told`,
  traceback: "",
};
const TYPES = ["number_of_executions", "stdout", "stderr", "result", "error", "end_of_execution"];

/**
 * A runner that speaks lines of JSON; what comes on the other stream is what its children say. Where
 * it counts its cells there, behind a mark, the end of one is told when the other stream is there too.
 */
export function telling(mark?: string): Translator {
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  let parts: string[] = [];
  let length = 0;
  let isTooLong = false;
  const cut = mark === undefined ? undefined : cutting(mark, /^ (\d+)$/, LONGEST_MARK);
  let over = 0;
  let waiting: Line | undefined;

  function hear(text: string): Line[] {
    // Joined once per line: a long one comes in a thousand parts.
    length += text.length;
    if (length > LONGEST_LINE) {
      parts = [];
      isTooLong = true;
    }
    parts.push(text);
    if (!text.includes("\n")) return [];
    const lines = parts.join("").split("\n");
    parts = [lines.pop() ?? ""];
    length = parts[0]?.length ?? 0;
    if (!isTooLong) return lines.flatMap(lineOf);
    isTooLong = false;
    return [LINE_TOO_LONG, ...lines.slice(1).flatMap(lineOf)];
  }
  function release(): Line[] {
    if (!waiting || Number(waiting.of) > over) return [];
    waiting = undefined;
    return [{ type: "end_of_execution" }];
  }
  function hearBeside(text: string): Line[] {
    if (!cut) return saidIf(text);
    return cut(text).flatMap((piece) => {
      if ("text" in piece) return saidIf(piece.text);
      over = Number(piece.behind[1]);
      return release();
    });
  }
  return (channel, data) => {
    const text = decoders[channel].write(Buffer.from(data));
    if (channel === "stderr") return hearBeside(text);
    return hear(text).flatMap((line) => {
      if (line.type !== "end_of_execution" || line.of === undefined) return [line];
      waiting = line;
      return release();
    });
  };
}

const saidIf = (text: string): Line[] => (text === "" ? [] : [said("stdout", text)]);

/** What is no line of ours came from a cell that found the channel: it is shown, not obeyed. */
function lineOf(text: string): Line[] {
  try {
    const line = JSON.parse(text) as Line;
    if (!TYPES.includes(line.type)) throw new Error("unknown");
    const isSaid = line.type === "stdout" || line.type === "stderr";
    if (isSaid) return [said(line.type as "stdout", String(line.text))];
    return [line.type === "result" ? { ...line, [WRITTEN]: text } : line];
  } catch {
    return text === "" ? [] : [said("stdout", `${text}\n`)];
  }
}

/**
 * A runner that knows no JSON: both streams are what they are, up to a mark on each. Behind the mark
 * on standard output stands what became of the cell, as a form of the web: how many there were, and
 * the members of one line more. Behind the one on standard error stands how many there were: a cell
 * ends when both have told of the same one.
 */
export function marked(mark: string): Translator {
  const cuts = {
    stdout: cutting(mark, /^ ([^ ]*)$/, LONGEST_LINE),
    stderr: cutting(mark, /^(?: (\d+))?$/, LONGEST_MARK),
  };
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  const over: { stdout?: string | undefined; stderr?: string | undefined } = {};
  return (channel, data) =>
    cuts[channel](decoders[channel].write(Buffer.from(data))).flatMap((piece) => {
      if ("text" in piece) return [said(channel, piece.text)];
      const behind = piece.behind[1] ?? UNNUMBERED;
      const form = Object.fromEntries(new URLSearchParams(channel === "stdout" ? behind : ""));
      over[channel] = channel === "stdout" ? form.count : behind;
      const lines = becameOf(form);
      if (!over.stdout || (over.stderr !== over.stdout && over.stderr !== UNNUMBERED)) return lines;
      over.stdout = over.stderr = undefined;
      return [...lines, { type: "end_of_execution" }];
    });
}

/** A runner that an older gateway has started numbers no mark on standard error: it is of any cell. */
const UNNUMBERED = "";

function becameOf({ count, type, ...members }: Readonly<Record<string, string>>): Line[] {
  const lines: Line[] = [];
  if (count) lines.push({ type: "number_of_executions", execution_count: Number(count) });
  // E2B takes the marks around a text away, whatever the language.
  const text = members.text?.replace(/^(["'])(.*)\1$/s, "$2");
  if (type === "result") lines.push({ type, is_main_result: true, ...members, text });
  else if (type === "error") lines.push({ type, ...members });
  return lines;
}

function said(type: "stdout" | "stderr", text: string): Line {
  return { type, text, timestamp: new Date().toISOString() };
}
