import { describe, expect, it } from "vitest";
import type { Result } from "./measure.ts";
import { statistics } from "./statistics.ts";
import { absences, goals, stages, table, YARDSTICKS } from "./table.ts";

const results: Result[] = [
  {
    name: YARDSTICKS[0],
    version: "1",
    measures: { cycle: statistics([2]), exec: statistics([1]), create: statistics([1.5]) },
  },
  { name: YARDSTICKS[1], version: "1", measures: { cycle: statistics([4]) } },
  { name: "peer", version: "9", measures: { cycle: statistics([300]), exec: statistics([50]) } },
  { name: "absent", missing: "not installed", measures: {} },
];

describe("table", () => {
  const rows = table(results)
    .split("\n")
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

  it("holds every peer against both of ours", () => {
    expect(rows[4]).toEqual(["peer", "9", "300 / 300", "150×", "75.0×", "50.0 / 50.0", "50.0×", ""]);
    expect(rows[3]).toEqual([YARDSTICKS[1], "1", "4.00 / 4.00", "2.0×", "", "–", "", ""]);
  });

  it("keeps a row for one that was not measured, and says why", () => {
    expect(rows[5]).toEqual(["absent", "", "not measured", "", "", "not measured", "", ""]);
    expect(absences(results)).toEqual(["absent was not measured: not installed"]);
  });

  it("tells the stages of our own cycle", () => {
    expect(stages(results)).toEqual([`${YARDSTICKS[0]}: create 1.50 / 1.50`]);
  });

  it("holds the goals against docker, where both were measured", () => {
    const docker = {
      name: "docker run / exec",
      measures: { cycle: statistics([200]), exec: statistics([90]) },
    };
    expect(goals([...results, docker])).toEqual([
      `cycle, ${YARDSTICKS[1]}: 50.0 × faster than docker run / exec (goal ≥ 25)`,
    ]);
  });
});
