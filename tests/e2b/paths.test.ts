import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Sandbox } from "e2b";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { ask } from "./asking.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

/** Of what E2B's client knows, what is not here. Teams are told with their keys, and no key is told here. */
const ABSENT = ["GET /teams", "GET /teams/{teamID}/metrics", "GET /teams/{teamID}/metrics/max"];

/** Every path of one of the client's own tables, with its methods. */
async function pathsIn(table: "paths" | "paths$1"): Promise<string[]> {
  const types = fileURLToPath(new URL("index.d.ts", import.meta.resolve("e2b")));
  const text = await readFile(types, "utf8");
  const from = text.indexOf(`interface ${table} {`);
  const body = text.slice(from, text.indexOf("\n}\n", from));
  const paths = [...body.matchAll(/^ {2}"(\/[^"]+)": \{(.*?)^ {2}\};/gms)];
  return paths.flatMap(([, path, of = ""]) =>
    [...of.matchAll(/^ {4}(get|put|post|delete|patch): \{/gm)].map(
      ([, method = ""]) => `${method.toUpperCase()} ${path}`,
    ),
  );
}

const NO_ROUTE = "this gateway has no such route";

describe("every path that E2B's client knows", () => {
  let door: Door;
  let sandbox: Sandbox;

  beforeAll(async () => {
    door = await openDoor();
    sandbox = await Sandbox.create("base", { ...door.options, envs: { WORD: "yes" } });
  });
  afterAll(async () => {
    await sandbox?.kill();
    await door?.close();
  });

  const absentOf = async (
    routes: readonly string[],
    tell: (method: string, path: string) => Promise<unknown>,
  ) => {
    const absent: string[] = [];
    for (const route of routes) {
      const [method = "", path = ""] = route.split(" ");
      const told = (await tell(method, path.replaceAll(/\{\w+\}/g, "no-such"))) as
        | { message?: string }
        | undefined;
      if (told?.message === NO_ROUTE) absent.push(route);
    }
    return absent;
  };

  it("leads somewhere in the control API, or is known not to", async () => {
    const routes = await pathsIn("paths");
    expect(routes.length).toBeGreaterThan(40);
    const tell = async (method: string, path: string) =>
      (await ask(door, method, path, method === "GET" ? undefined : {})).json;
    expect(await absentOf(routes, tell)).toEqual(ABSENT);
  });

  const own = async () => {
    const { core, apiKey } = door.gateway;
    const token = await core.openAccess(await core.authenticate(apiKey), sandbox.sandboxId);
    return {
      "e2b-sandbox-id": sandbox.sandboxId,
      "x-access-token": token,
      "content-type": "application/json",
    };
  };
  const inside = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${door.url}${path}`, {
      method,
      headers: await own(),
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, json: text === "" ? undefined : JSON.parse(text) };
  };

  it("leads somewhere inside a sandbox", async () => {
    const routes = await pathsIn("paths$1");
    expect(routes.length).toBeGreaterThan(4);
    const tell = async (method: string, path: string) => (await inside(method, path)).json;
    expect(await absentOf(routes, tell)).toEqual([]);
  });

  it("tells a sandbox's variables and what it uses", async () => {
    expect(await inside("GET", "/envs")).toMatchObject({ status: 200, json: { WORD: "yes" } });
    const { status, json } = await inside("GET", "/metrics");
    expect(status).toBe(200);
    expect(json).toMatchObject({ cpu_count: 2, ts: expect.any(Number), mem_total: expect.any(Number) });
    expect(json.mem_used).toBeGreaterThan(0);
  });

  it("makes one file of several, which are then no more", async () => {
    await sandbox.files.write([
      { path: "part/one", data: "eins " },
      { path: "part/two", data: "zwei" },
      { path: "whole/file", data: "before" },
    ]);
    const asked = { source_paths: ["part/one", "~/part/two"], destination: "whole/file" };
    const compose = (body: object) => inside("POST", "/files/compose", body);
    for (const [body, status] of [
      [{ ...asked, source_paths: [] }, 400],
      [{ ...asked, destination: "" }, 400],
      [{ ...asked, source_paths: ["part/one", "/home/user/whole/../whole/file"] }, 400],
      [{ ...asked, source_paths: ["part/one", "part/none"] }, 404],
      [{ ...asked, source_paths: ["part/one", "part"] }, 400],
      [{ ...asked, username: "stranger" }, 401],
      [{ ...asked, destination: "/etc/mine" }, 403],
    ] as const) {
      expect(await compose(body), JSON.stringify(body)).toEqual({
        status,
        json: { code: status, message: expect.any(String) },
      });
    }
    expect(await sandbox.files.read("whole/file")).toBe("before");
    expect(await compose(asked)).toEqual({
      status: 200,
      json: { name: "file", path: "/home/user/whole/file", type: "file" },
    });
    expect(await sandbox.files.read("whole/file")).toBe("eins zwei");
    expect(await sandbox.files.list("part")).toEqual([]);
  });
});
