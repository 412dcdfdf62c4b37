import { Sandbox } from "e2b";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { ask } from "./asking.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

/** Each is refused by E2B before it looks for anything. */
const BAD = [
  ...["0", "-1", "101", "1.5", "ten", ""].map((value) => ["limit", value] as const),
  ...["", "dead", "running,dead", "Running"].map((value) => ["state", value] as const),
  ...["", "up", "ASC"].map((value) => ["order", value] as const),
  ...["yesterday", "1", "2026-13-01T00:00:00Z"].map((value) => ["startedAfter", value] as const),
  ...["nonsense", "aaaaaaaaaaaaaaaaaaaa", "%F0%9F%98%80"].map((value) => ["nextToken", value] as const),
  ...["%25ZZ=1", "a=%25E0%25A4%25A"].map((value) => ["metadata", value] as const),
  ["template", "base:tag"] as const,
];

describe("lists of E2B's control API", () => {
  let door: Door;
  let ids: string[];

  beforeAll(async () => {
    door = await openDoor();
    const some = ["one", "two", "three"];
    ids = [];
    for (const task of some) {
      const made = await Sandbox.create("base", { ...door.options, metadata: { task, of: "list" } });
      ids.push(made.sandboxId);
    }
    await Sandbox.pause(ids[1] ?? "", door.options);
  });
  afterAll(async () => {
    for (const id of ids ?? []) await Sandbox.kill(id, door.options);
    await door?.close();
  });

  const list = async (query: string) => ask(door, "GET", `/v2/sandboxes${query}`);
  const idsOf = ({ json }: Awaited<ReturnType<typeof ask>>) =>
    json.map(({ sandboxID }: { sandboxID: string }) => sandboxID);

  it.each(BAD)("refuses %s=%s", async (name, value) => {
    const { status, json } = await list(`?${name}=${value}`);
    expect({ status, json }).toEqual({ status: 400, json: { code: 400, message: expect.any(String) } });
  });

  it("says how many run, where running ones are asked for, whatever the page", async () => {
    const total = async (query: string) => (await list(query)).headers.get("x-total-running");
    expect(await total("?limit=1")).toBe("2");
    expect(await total("?state=running&metadata=task%3Done")).toBe("1");
    expect(await total("?state=running&metadata=task%3Dtwo")).toBe("0");
    expect(await total("?state=paused")).toBeNull();
    expect((await ask(door, "GET", "/sandboxes")).headers.get("x-total-running")).toBeNull();
  });

  it("goes on from its token in the order that it is of, also where that sandbox has ended", async () => {
    const gone = await Sandbox.create("base", door.options);
    const newest = await list("?limit=1");
    expect(idsOf(newest)).toEqual([gone.sandboxId]);
    const desc = encodeURIComponent(newest.headers.get("x-next-token") ?? "");
    const oldest = await list("?limit=1&order=asc");
    expect(idsOf(oldest)).toEqual([ids[0]]);
    const asc = encodeURIComponent(oldest.headers.get("x-next-token") ?? "");
    expect((await list(`?order=asc&nextToken=${desc}`)).json).toMatchObject({
      message: "Invalid next token",
    });
    expect((await list(`?nextToken=${asc}`)).json).toMatchObject({ message: "Invalid next token" });
    await gone.kill();
    await Sandbox.kill(ids[0] ?? "", door.options);
    expect(idsOf(await list(`?nextToken=${desc}`))).toEqual([ids[2], ids[1]]);
    const rest = await list(`?order=asc&nextToken=${asc}`);
    expect(idsOf(rest)).toEqual([ids[1], ids[2]]);
    expect(rest.headers.get("x-next-token")).toBeNull();
  });

  it("measures many at once, and leaves out what is over or nobody's", async () => {
    const over = await Sandbox.create("base", door.options);
    await over.kill();
    const asked = [ids[1], ids[2], over.sandboxId, "a".repeat(20), "no-such"].join(",");
    const { status, json } = await ask(door, "GET", `/sandboxes/metrics?sandbox_ids=${asked}`);
    const sample = expect.objectContaining({ cpuCount: 2, memTotal: expect.any(Number) });
    expect({ status, json }).toEqual({
      status: 200,
      json: { sandboxes: { [ids[1] ?? ""]: sample, [ids[2] ?? ""]: sample } },
    });
    const many = Array.from({ length: 101 }, (_, at) => String(at).padStart(20, "a")).join(",");
    for (const query of ["", "?sandbox_ids=", `?sandbox_ids=${many}`]) {
      expect((await ask(door, "GET", `/sandboxes/metrics${query}`)).json).toMatchObject({ code: 400 });
    }
  });
});
