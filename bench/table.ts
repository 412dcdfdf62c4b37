import type { Result } from "./measure.ts";
import { ratio, type Statistics } from "./statistics.ts";

/** Peers are held against these, one column each. */
export const YARDSTICKS = ["sandboxer: local engine", "sandboxer: HTTP + SDK"] as const;

/** A Markdown table: cycle and exec of everybody, in milliseconds, and how many times ours that is. */
export function table(results: readonly Result[]): string {
  const ours = YARDSTICKS.map((name) => results.find((result) => result.name === name));
  const head = (title: string): string[] => [title, "÷ engine", "÷ SDK"];
  return align([
    ["", "version", ...head("create+exec+destroy"), ...head("exec in a live one")],
    ...results.map((result) => [
      result.name,
      result.version ?? "",
      ...cells(result, "cycle", ours),
      ...cells(result, "exec", ours),
    ]),
  ]);
}

/** Who has no numbers, and why. */
export function absences(results: readonly Result[]): string[] {
  return results.flatMap(({ name, missing }) => (missing ? [`${name} was not measured: ${missing}`] : []));
}

/** The stages of our own cycles. */
export function stages(results: readonly Result[]): string[] {
  return results.flatMap(({ name, measures }) => {
    const told = Object.entries(measures).filter(([measure]) => measure !== "cycle" && measure !== "exec");
    return told.length > 0
      ? [`${name}: ${told.map(([stage, one]) => `${stage} ${span(one)}`).join(", ")}`]
      : [];
  });
}

function cells(result: Result, measure: string, ours: readonly (Result | undefined)[]): string[] {
  if (result.missing) return ["not measured", "", ""];
  const measured = result.measures[measure];
  if (!measured) return ["–", "", ""];
  return [
    span(measured),
    ...ours.map((one) => {
      const times = one === result ? undefined : ratio(measured, one?.measures[measure]);
      return times === undefined ? "" : `${times.toPrecision(times < 10 ? 2 : 3)}×`;
    }),
  ];
}

const span = ({ medianMs, p95Ms }: Statistics): string =>
  `${milliseconds(medianMs)} / ${milliseconds(p95Ms)}`;

function milliseconds(value: number): string {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

function align(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(head), `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`, ...body.map(line)].join(
    "\n",
  );
}

/** How many times faster ours must be, by what the peers' own commands take. */
const GOALS = [
  { ours: "sandboxer: HTTP + SDK", peer: "docker run / exec", what: "cycle", times: 25 },
  { ours: "sandboxer: HTTP + SDK", peer: "docker run / exec", what: "exec", times: 30 },
  { ours: "sandboxer run", peer: "docker run / exec", what: "cycle", times: 2 },
];

/** One line a goal, whether it is reached or not. */
export function goals(results: readonly Result[]): string[] {
  const medianOf = (name: string, what: string) =>
    results.find((one) => one.name === name)?.measures[what]?.medianMs;
  return GOALS.flatMap(({ ours, peer, what, times }) => {
    const [own, theirs] = [medianOf(ours, what), medianOf(peer, what)];
    if (own === undefined || theirs === undefined) return [];
    return `${what}, ${ours}: ${(theirs / own).toFixed(1)} × faster than ${peer} (goal ≥ ${times})`;
  });
}
