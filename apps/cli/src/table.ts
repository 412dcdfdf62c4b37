import { printable } from "./printable.ts";

/** Columns as wide as they need to be, two spaces apart. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows.map((row) => row.map(printable))];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** On a terminal, what to do first where a list has nothing but its head. */
export function adviseIfNone(found: readonly unknown[], advice: string): void {
  if (found.length === 0 && process.stderr.isTTY) process.stderr.write(`There are none; ${advice}\n`);
}

/** The largest unit that fits: `45s`, `12m`, `3h`, `2d`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 100) return `${seconds}s`;
  if (seconds < 100 * 60) return `${Math.round(seconds / 60)}m`;
  if (seconds < 48 * 3_600) return `${Math.round(seconds / 3_600)}h`;
  return `${Math.round(seconds / 86_400)}d`;
}
