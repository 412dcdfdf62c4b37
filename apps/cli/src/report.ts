import { styleText } from "node:util";
import { ERRORS, SandboxerError } from "@sandboxer/contract";
import { printable } from "./printable.ts";

/** Says what went wrong and what to do about it; gives the exit code the error table has for it. */
export function report(thrown: unknown, asJson: boolean): number {
  const error = SandboxerError.from(thrown);
  const { code, message, hint, details } = error;
  if (asJson) {
    process.stderr.write(`${JSON.stringify({ error: { code, message, hint, details } })}\n`);
  } else {
    // Looks at NO_COLOR and at whether this is a terminal by itself.
    const mark = (color: "red" | "cyan", word: string) => styleText(color, word, { stream: process.stderr });
    process.stderr.write(`${mark("red", "error:")} ${printable(message)}\n`);
    process.stderr.write(`${mark("cyan", "hint:")} ${printable(hint)}\n`);
    if (code === "internal" && process.env.SANDBOXER_DEBUG) console.error(thrown);
  }
  return ERRORS[code].exitCode;
}
