import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { requires } from "../../../../tests/capabilities/requires.ts";
import { lends } from "./find-users.ts";

const { it: asRoot } = await requires("root");

const ann = { uid: 1000, username: "ann" };

it("finds a whole range by name or uid, and no other", () => {
  expect(lends("bob:100000:65536\nann:200000:65536\n", ann)).toBe(true);
  expect(lends("1000:200000:65535\n", ann)).toBe(true);
  for (const text of [
    "",
    "bob:100000:65536\n",
    "ann:100000:1000\n",
    "ann:0:65536\n",
    "ann\n",
    "anna:1:65536",
  ]) {
    expect(lends(text, ann), text).toBe(false);
  }
});

asRoot("asks for a user that the machine has no name for", () => {
  const module = new URL("./find-users.ts", import.meta.url).href;
  const script = `const { findUsers } = await import(${JSON.stringify(module)}); console.log(JSON.stringify(await findUsers()))`;
  const argv = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", script];
  const said = execFileSync(process.execPath, argv, { uid: 54_321, gid: 54_321, encoding: "utf8" });
  expect(JSON.parse(said)).toMatchObject({ id: "local.users", ok: false, fix: expect.any(String) });
});
