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
        { label: "a", value: 3, group: "Group 0" },
        { label: "b", value: 5, group: "Group 0" },
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

  it("shows tables whose columns repeat, with gaps, dates and numbers that JSON does not know", async () => {
    const code = `
import pandas as pd, numpy as np
table = pd.DataFrame([[1, np.nan], [2, np.inf]], columns=["a", "a"])
table["when"] = pd.to_datetime(["2024-01-02", None])
table[("b", 1)] = [np.int64(3), "x"]
table`;
    const { results, error, logs } = await sandbox.runCode(code);
    expect({ error, logs }).toEqual({ error: undefined, logs: { stdout: [], stderr: [] } });
    expect(results[0]?.data).toEqual({
      a: [1, 2],
      "a.1": [null, null],
      when: ["2024-01-02T00:00:00", null],
      "('b', 1)": [3, "x"],
    });
    const one = async (shown: string) => (await sandbox.runCode(shown)).results[0];
    expect((await one("table['when']"))?.text).toContain("datetime64");
    expect((await one("table.columns[:2]"))?.text).toContain("Index(['a', 'a']");
    expect((await one("np.float64(2.5)"))?.text).toBe("np.float64(2.5)");
    expect(await one("{'n': np.arange(3), 'x': np.float64('nan')}")).toMatchObject({
      json: { n: [0, 1, 2], x: null },
    });
    expect((await one("pd.DataFrame(np.zeros((1_000_001, 1)))"))?.formats()).toEqual(["html"]);
  });

  it("knows boxes that stand and lie, with what lies outside of them", async () => {
    const boxes = `
import matplotlib.pyplot as plt
scores = {"A": [85, 90, 78, 92, 88], "B": [95, 89, 76, 91, 84, 87]}
for more in ({}, {"patch_artist": True}, {"orientation": "horizontal"}):
    figure, axes = plt.subplots()
    axes.boxplot(list(scores.values()), showmeans=True, **more)
    if "orientation" in more:
        axes.set_yticks([1, 2], list(scores)); axes.set_xlabel("points"); axes.set_ylabel("class")
    else:
        axes.set_xticks([1, 2], list(scores)); axes.set_xlabel("class"); axes.set_ylabel("points")
    plt.show()`;
    const charts = (await sandbox.runCode(boxes)).results.map(({ chart }) => chart);
    const chart = {
      type: "box_and_whisker",
      x_label: "class",
      y_label: "points",
      elements: [
        { label: "A", min: 78, first_quartile: 85, median: 88, third_quartile: 90, max: 92, outliers: [] },
        {
          label: "B",
          min: 84,
          first_quartile: 84.75,
          median: 88,
          third_quartile: 90.5,
          max: 95,
          outliers: [76],
        },
      ],
    };
    expect(charts).toMatchObject([chart, chart, chart]);
  });

  it("knows bars that lie, that stand in groups, and that say how sure they are", async () => {
    const code = `
import numpy as np, pandas as pd
plt.barh(["a", "b"], [5, 5]); plt.xlabel("share (%)"); plt.ylabel("name"); plt.show()
at = np.arange(2)
plt.bar(at - 0.2, [1, 2], 0.4, label="men", yerr=[0.1, 0.2]); plt.bar(at + 0.2, [3, 4], 0.4, label="women")
plt.xticks(at, ["old", "young"]); plt.legend(); plt.show()
pd.DataFrame({"u": [1, 2], "v": [3, 4]}, index=["k", "l"]).plot.bar(); plt.show()
plt.hist([1, 2, 2, 3], bins=[0.5, 1.5, 2.5, 3.5]); plt.show()`;
    const { results, error } = await sandbox.runCode(code);
    expect(error).toBeUndefined();
    const bars = results.map(({ chart }) =>
      chart?.elements.map(({ label, value, group }) => [label, value, group]),
    );
    expect(bars).toEqual([
      [
        ["a", 5, "Group 0"],
        ["b", 5, "Group 0"],
      ],
      [
        ["old", 1, "men"],
        ["young", 2, "men"],
        ["old", 3, "women"],
        ["young", 4, "women"],
      ],
      [
        ["k", 1, "u"],
        ["l", 2, "u"],
        ["k", 3, "v"],
        ["l", 4, "v"],
      ],
      [
        ["1", 1, "Group 0"],
        ["2", 2, "Group 0"],
        ["3", 1, "Group 0"],
      ],
    ]);
    // As if they stood: x is what the bars are for.
    expect(results[0]?.chart).toMatchObject({ x_label: "name", y_label: "share (%)", y_unit: "%" });
  });

  it("knows scales, and says where it does not know a chart", async () => {
    const code = `
import datetime
plt.plot([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)], [1, float("nan")]); plt.axhline(1); plt.show()
plt.plot(np.array(["2024-01-01", "2024-01-02"], "datetime64[ns]"), [1, 2]); plt.show()
plt.plot([1, 2], ["x", "y"]); plt.show()
plt.plot([1, 10], [1, 100]); plt.yscale("log"); plt.grid(True); plt.show()
plt.scatter([1, 2], [3, 4], c=[1, 2], label="dots"); plt.colorbar(); plt.show()
plt.imshow([[1, 2], [3, 4]]); plt.title("a picture"); plt.show()
plt.plot([1, 2]); plt.scatter([1], [2]); plt.show()
figure, _ = plt.subplots(1, 2); figure.suptitle("both"); _[0].pie([9, 1], labels=["l", "s"]); plt.show()`;
    const { results, error } = await sandbox.runCode(code);
    expect(error).toBeUndefined();
    expect(results.map(({ chart }) => chart)).toMatchObject([
      {
        type: "line",
        x_scale: "datetime",
        elements: [
          {
            label: "Line 0",
            points: [
              ["2024-01-01", 1],
              ["2024-01-02", null],
            ],
          },
        ],
      },
      {
        type: "line",
        x_scale: "datetime",
        elements: [{ points: [[expect.stringMatching(/^2024-01-01T/), 1], {}] }],
      },
      { type: "line", x_scale: "linear", y_scale: "categorical" },
      { type: "line", y_scale: "log" },
      {
        type: "scatter",
        elements: [
          {
            label: "dots",
            points: [
              [1, 3],
              [2, 4],
            ],
          },
        ],
      },
      { type: "unknown", title: "a picture", elements: [] },
      { type: "unknown", elements: [] },
      {
        type: "superchart",
        title: "both",
        elements: [{ type: "pie", elements: [{ label: "l", angle: 324, radius: 1 }, {}] }, {}],
      },
    ]);
  });

  it("shows what a broken cell has drawn, and a figure that cannot be drawn breaks one cell", async () => {
    const broken = await sandbox.runCode("plt.plot([1, 2])\nnothing_of_this_name");
    expect(broken.error?.name).toBe("NameError");
    expect(broken.results.map(({ chart }) => chart?.type)).toEqual(["line"]);
    expect((await sandbox.runCode("plt.plot([1]); plt.title('$\\\\nothing$')")).error?.name).toBe(
      "ValueError",
    );
    expect(await sandbox.runCode("1 + 1")).toMatchObject({ text: "2", error: undefined });
    // A figure of another maker has the same name.
    const other = "class Figure:\n  def _repr_html_(self): return '<p>'\nFigure()";
    expect((await sandbox.runCode(other)).results[0]?.html).toBe("<p>");
  });

  it("shows pictures, and leaves programs that a cell starts their own way of drawing", async () => {
    const code =
      "from PIL import Image\npicture = Image.new('RGB', (2, 2)); picture.show(); picture.save('saved.png'); picture";
    const { results } = await sandbox.runCode(code);
    expect(results.map(({ png, isMainResult }) => [png?.slice(0, 8), isMainResult])).toEqual([
      ["iVBORw0K", false],
      ["iVBORw0K", false],
      ["iVBORw0K", true],
    ]);
    const child = `!python3 -c "import matplotlib.pyplot as p; p.plot([1]); print('drawn')"`;
    expect((await sandbox.runCode(child)).logs.stdout.join("")).toBe("drawn\n");
  });

  it("shows figures of plotly, which has no browser here", async () => {
    const code =
      "import plotly.graph_objects as go\nplot = go.Figure(go.Bar(x=['a'], y=[1])); plot.show(); plot";
    const { results, error } = await sandbox.runCode(code);
    expect(error).toBeUndefined();
    const bar = { data: [{ type: "bar", x: ["a"], y: [1] }] };
    expect(results.map(({ html, extra }) => [html?.includes("<div"), extra])).toMatchObject([
      [true, { "application/vnd.plotly.v1+json": bar }],
      [true, { "application/vnd.plotly.v1+json": bar }],
    ]);
  });
});
