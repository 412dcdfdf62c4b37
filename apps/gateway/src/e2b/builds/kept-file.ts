import { readFileSync } from "node:fs";
import { z } from "zod";
import { writePrivately } from "../../home.ts";

/** What is known by name, in a file of its own that is whole at every moment. */
export interface KeptFile<T> {
  readonly all: Map<string, T>;
  /** After every change of `all`. */
  write(): void;
}

/** One that is not there is empty; one that is broken stops the gateway instead of being overwritten. */
export function openKeptFile<T>(file: string, value: z.ZodType<T>): KeptFile<T> {
  const all = new Map(Object.entries(z.record(z.string(), value).parse(read(file))));
  return {
    all,
    write: () => writePrivately(file, `${JSON.stringify(Object.fromEntries(all))}\n`),
  };
}

function read(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return {};
  }
  return JSON.parse(text);
}
