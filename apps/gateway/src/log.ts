import { openSync, writeSync } from "node:fs";
import { redact } from "./observe/redact.ts";

/** What happened, as data. Never a header or a body: those hold keys and other people's content. */
export interface LogRecord {
  readonly level: "info" | "error";
  readonly event: string;
  readonly [member: string]: unknown;
}

export type Log = (record: LogRecord) => void;

export interface LogOptions {
  readonly file?: string | undefined;
  /** Left out, text for a terminal and JSON for everything else. */
  readonly format?: "json" | "text" | undefined;
}

/**
 * A record a line, to a file or to standard error, with nothing in it that a terminal obeys. Lines
 * leave together after the answers they tell of, so that no client waits for a log; errors at once.
 */
export function createLog({ file, format }: LogOptions = {}): Log {
  const descriptor = file === undefined ? 2 : openSync(file, "a", 0o600);
  const isForPeople = format === "text" || (!format && !file && process.stderr.isTTY);
  const line = isForPeople ? textLine : jsonLine;
  let gathered: { readonly record: LogRecord; readonly at: Date }[] = [];

  const flush = (): void => {
    const batch = gathered;
    gathered = [];
    if (batch.length === 0) return;
    try {
      writeSync(descriptor, batch.map(({ record, at }) => `${redact(line(record, at))}\n`).join(""));
    } catch {
      // A log that cannot be written (a closed terminal, a full disk) must not take requests down.
    }
  };
  process.once("exit", flush);
  return (record) => {
    gathered.push({ record, at: new Date() });
    if (record.level === "error") flush();
    else if (gathered.length === 1) setImmediate(flush);
  };
}

/** What JSON lets stand although terminals obey it: a second set of controls, and marks that turn text around. */
const OBEYED = /[\x7f-\x9f\p{Bidi_Control}\u2028\u2029]/gu;

function jsonLine(record: LogRecord, at: Date): string {
  return JSON.stringify({ at: at.toISOString(), ...record }).replace(OBEYED, escaped);
}

/** `12:03:04 request GET /health 200 0.4ms req_…`, then whatever else is known. */
function textLine({ level, event, ...rest }: LogRecord, at: Date): string {
  const { requestId, method, path, status, durationMs, ...more } = rest as Record<string, unknown>;
  const known = [method, path, status, durationMs === undefined ? undefined : `${durationMs}ms`, requestId];
  const others = Object.entries(more).map(([name, value]) =>
    value === undefined ? undefined : `${name}=${plain(value)}`,
  );
  const words = [
    at.toISOString().slice(11, 19),
    level === "error" ? "ERROR" : "",
    event,
    ...known.map(plain),
    ...others,
  ];
  return words.filter((word) => word !== undefined && word !== "").join(" ");
}

function plain(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^[\x21-\x7e]*$/.test(text) ? text : JSON.stringify(text).replace(/[^\x20-\x7e]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

export const silent: Log = () => {};
