import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { requires } from "./capabilities/requires.ts";

const BOXD = fileURLToPath(new URL("../packages/boxd", import.meta.url));
const COMPILES_WITHIN_MS = 600_000;

const { describe, given } = await requires("cargo");
describe("boxd", () => {
  it("passes its own tests", { timeout: COMPILES_WITHIN_MS }, () => {
    const argv = ["test", "--quiet", "--profile", "checked", "--locked"];
    const { cargo, env } = given.cargo;
    const { status, stdout, stderr } = spawnSync(cargo, argv, { cwd: BOXD, env, encoding: "utf8" });
    expect(status, `${stdout}\n${stderr}`).toBe(0);
  });
});
