import { StringDecoder } from "node:string_decoder";

/** One line of E2B's answer. */
export type Line = { readonly type: string; readonly [member: string]: unknown };

/** Turns what a runner's streams carry into lines; `end_of_execution` is the last of a cell. */
export type Translator = (channel: "stdout" | "stderr", data: Uint8Array) => Line[];

const LONGEST_LINE = 64 << 20;
const TYPES = ["number_of_executions", "stdout", "stderr", "result", "error", "end_of_execution"];

/** A runner that speaks lines of JSON; what comes on the other stream is what its children say. */
export function telling(): Translator {
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  let rest = "";
  return (channel, data) => {
    const text = decoders[channel].write(Buffer.from(data));
    if (channel === "stderr") return text === "" ? [] : [said("stdout", text)];
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST_LINE) rest = "";
    return lines.flatMap(lineOf);
  };
}

/** What is no line of ours came from a cell that found the channel: it is shown, not obeyed. */
function lineOf(text: string): Line[] {
  try {
    const line = JSON.parse(text) as Line;
    if (!TYPES.includes(line.type)) throw new Error("unknown");
    const isSaid = line.type === "stdout" || line.type === "stderr";
    return [isSaid ? said(line.type as "stdout", String(line.text)) : line];
  } catch {
    return text === "" ? [] : [said("stdout", `${text}\n`)];
  }
}

/**
 * A runner that knows no JSON: both streams are what they are, up to a mark on each. Behind the mark
 * on standard output stands what became of the cell, as a form of the web: how many there were, and
 * the members of one line more. Bash says its status there, which nobody asks for.
 */
export function marked(mark: string): Translator {
  const held = { stdout: "", stderr: "" };
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  const over = { stdout: false, stderr: false };
  return (channel, data) => {
    const text = held[channel] + decoders[channel].write(Buffer.from(data));
    const [before = "", became = "", after] = text.split(new RegExp(`${mark}(?: ([^\\n ]*))?\\n`));
    const lines: Line[] = [];
    if (after === undefined) {
      // What may be the beginning of a mark waits for the rest of it.
      const at = beginningOf(mark, text);
      const isPartial = at >= 0;
      held[channel] = isPartial ? text.slice(at) : "";
      const ready = isPartial ? text.slice(0, at) : text;
      return ready === "" ? [] : [said(channel, ready)];
    }
    held[channel] = after;
    over[channel] = true;
    if (before !== "") lines.push(said(channel, before));
    if (became !== "") lines.push(...becameOf(became));
    if (over.stdout && over.stderr) {
      over.stdout = over.stderr = false;
      lines.push({ type: "end_of_execution" });
    }
    return lines;
  };
}

/** Where a mark begins whose end has not come yet. */
function beginningOf(mark: string, text: string): number {
  const whole = text.lastIndexOf(mark);
  if (whole >= 0) return whole;
  for (let length = Math.min(mark.length, text.length); length > 0; length -= 1) {
    if (mark.startsWith(text.slice(-length))) return text.length - length;
  }
  return -1;
}

function becameOf(form: string): Line[] {
  const { count, type, ...members } = Object.fromEntries(new URLSearchParams(form));
  const lines: Line[] = [];
  if (count) lines.push({ type: "number_of_executions", execution_count: Number(count) });
  if (type === "result") lines.push({ type, is_main_result: true, ...members });
  else if (type === "error") lines.push({ type, ...members });
  return lines;
}

function said(type: "stdout" | "stderr", text: string): Line {
  return { type, text, timestamp: new Date().toISOString() };
}
