import { fileURLToPath } from "node:url";
import { createClient } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";
import { saidBy } from "./saying.ts";

const { describe, given } = await requires("linux-userns", "boxd", "python-e2b", "python-science");

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

describe("E2B's own code interpreter for Python", () => {
  let door: Door;

  beforeAll(async () => {
    door = await openDoor();
    const tools = [given["python-science"].folder];
    const client = createClient({ url: door.url, apiKey: door.gateway.apiKey });
    await client.profiles.publish({ schema: 1, name: "science", image: { kind: "host", tools } });
  });
  afterAll(() => door?.close());

  it("runs cells and understands what they show", async () => {
    const program = fileURLToPath(new URL("cells.py", import.meta.url));
    const env = { PATH: process.env.PATH, ...door.variables };
    const { stdout, stderr } = await saidBy(given["python-e2b"].python, [program, "science"], env);
    // What it could not read of a chart it would say there.
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      ran: ["[20, 2.0, nan]", [20, 2, null], ["größer\n"], 2, null],
      types: ["int", "float", "NoneType"],
      failed: ["ZeroDivisionError", "division by zero", true],
      shown: [["application/x-own", "latex"]],
      charts: [
        "LineChart",
        "ScatterChart",
        "BarChart",
        "PieChart",
        "BoxAndWhiskerChart",
        "SuperChart",
        "Chart",
      ],
      numbers: [
        [
          [1, 3],
          [2, 4],
        ],
        ["float"],
        [
          ["a", 3, "n"],
          ["b", 4, "n"],
        ],
        [90, 270],
        [3, [20]],
        ["LineChart", "LineChart"],
      ],
      table: { a: [1, 3], "a.1": [2.5, null] },
      js: "/tmp",
      late: "TimeoutException",
      after: "20",
      not_waiting: "async",
    });
  });
});
