import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Recorded } from "./lab.ts";

export interface Keys {
  readonly id: string;
  readonly secret: string;
  readonly token?: string;
}

/** Whether each arrived signed by this key, as somebody says who shares no line with the guard. */
export function verdicts(seen: readonly Recorded[], keys: Partial<Keys>): string[] {
  const script = fileURLToPath(new URL("verify_sigv4.py", import.meta.url));
  const input = JSON.stringify(seen.map((one) => [one, keys]));
  return JSON.parse(execFileSync("python3", [script], { input, encoding: "utf8" }));
}
