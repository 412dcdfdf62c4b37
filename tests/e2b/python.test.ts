import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";

const { describe, given } = await requires("linux-userns", "boxd", "python-e2b");
const run = promisify(execFile);

describe("E2B's own package for Python", () => {
  let door: Door;

  beforeAll(async () => {
    door = await openDoor();
  });
  afterAll(() => door?.close());

  it("runs a program as it is, waiting and not waiting", async () => {
    const program = fileURLToPath(new URL("program.py", import.meta.url));
    const env = { PATH: process.env.PATH, ...door.variables };
    const { stdout } = await run(given["python-e2b"].python, [program], { env, timeout: 90_000 });
    expect(JSON.parse(stdout)).toEqual({
      ran: ["hello\n", 0],
      failed: 3,
      input: "typed\n",
      files: ["one", "two"],
      read: "eins",
      events: true,
      signed: "eins",
      listed: true,
      paused: [false, true],
      terminal: true,
      killed: [true, false, false],
      not_waiting: "async\n",
    });
  }, 120_000);
});
