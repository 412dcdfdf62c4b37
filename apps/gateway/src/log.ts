import { openSync, writeSync } from "node:fs";

/** What happened, as data. Never a header or a body: those hold keys and other people's content. */
export interface LogRecord {
  readonly level: "info" | "error";
  readonly event: string;
  readonly [member: string]: unknown;
}

export type Log = (record: LogRecord) => void;

/** One JSON object a line, to a file or to standard error. JSON escapes what a terminal would obey. */
export function createLog(file?: string): Log {
  const descriptor = file === undefined ? 2 : openSync(file, "a", 0o600);
  return (record) => {
    try {
      writeSync(descriptor, `${JSON.stringify({ at: new Date().toISOString(), ...record })}\n`);
    } catch {
      // A log that cannot be written (a closed terminal, a full disk) must not take requests down.
    }
  };
}

export const silent: Log = () => {};
