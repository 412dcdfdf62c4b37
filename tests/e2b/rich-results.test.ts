import { Sandbox } from "@e2b/code-interpreter";
import { createClient } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";

const { describe, given } = await requires("linux-userns", "boxd", "python-science");

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

const FIGURES = `
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot([1, 2, 3], [2, 4, 8], label="doubling")
axes.set_title("a line"); axes.set_xlabel("x"); axes.set_ylabel("y")
plt.show()
figure, axes = plt.subplots()
axes.bar(["a", "b"], [3, 5]); axes.set_title("bars")
plt.show()
figure, axes = plt.subplots()
axes.scatter([1, 2], [5, 6]); axes.set_title("points")
plt.show()
figure, axes = plt.subplots()
axes.pie([1, 3], labels=["small", "large"]); axes.set_title("parts")
plt.show()
figure, (left, right) = plt.subplots(1, 2)
left.plot([1, 2], [1, 2]); right.bar(["c"], [1])
figure
`;

describe("rich results, where the image has pandas and matplotlib", () => {
  let door: Door;
  let sandbox: Sandbox;

  beforeAll(async () => {
    door = await openDoor();
    const tools = [given["python-science"].folder];
    const client = createClient({ url: door.url, apiKey: door.gateway.apiKey });
    await client.profiles.publish({ schema: 1, name: "science", image: { kind: "host", tools } });
    sandbox = await Sandbox.create("science", door.options);
  });
  afterAll(async () => {
    await sandbox?.kill();
    await door?.close();
  });

  it("shows a table as text, as a page and as data", async () => {
    const code = "import pandas as pd\npd.DataFrame({'name': ['eins', 'zwei'], 'n': [1, 2]})";
    const { results, error } = await sandbox.runCode(code);
    expect(error).toBeUndefined();
    expect(results).toHaveLength(1);
    expect(results[0]).toMatchObject({
      isMainResult: true,
      data: { name: ["eins", "zwei"], n: [1, 2] },
    });
    expect(results[0]?.html).toContain("<table");
    expect(results[0]?.text).toContain("eins");
  });

  it("shows figures as pictures, and as the numbers in them", async () => {
    const { results, error } = await sandbox.runCode(FIGURES);
    expect(error).toBeUndefined();
    for (const { png } of results) expect(png?.slice(0, 8)).toBe("iVBORw0K");
    expect(results.map(({ chart }) => chart?.type)).toEqual(["line", "bar", "scatter", "pie", "superchart"]);
    const [line, bars, points, parts] = results.map(({ chart }) => chart);
    expect(line).toMatchObject({
      title: "a line",
      x_label: "x",
      y_label: "y",
      elements: [
        {
          label: "doubling",
          points: [
            [1, 2],
            [2, 4],
            [3, 8],
          ],
        },
      ],
    });
    expect(bars).toMatchObject({
      title: "bars",
      elements: [
        { label: "a", value: "3" },
        { label: "b", value: "5" },
      ],
    });
    expect(points).toMatchObject({
      elements: [
        {
          points: [
            [1, 5],
            [2, 6],
          ],
        },
      ],
    });
    expect(parts).toMatchObject({ elements: [{ label: "small" }, { label: "large" }] });
  });

  it("shows a figure that nobody asked for by name, once", async () => {
    const { results } = await sandbox.runCode("plt.plot([1, 2], [3, 4])\nplt.show()");
    expect(results.filter(({ png }) => png !== undefined)).toHaveLength(1);
    expect((await sandbox.runCode("1 + 1")).results).toHaveLength(1);
  });
});
