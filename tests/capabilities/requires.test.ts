import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it, describe as vitestDescribe } from "vitest";
import { requires } from "./requires.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const VITEST = fileURLToPath(new URL("../../node_modules/vitest/vitest.mjs", import.meta.url));

/** Runs a vitest of its own on one planted test file, with a reporter that expects `expected`. */
function runVitest(root: string, expected: Record<string, number>, env: NodeJS.ProcessEnv) {
  writeFileSync(join(root, "expected.json"), JSON.stringify(expected));
  writeFileSync(
    join(root, "vitest.config.ts"),
    `import { CapabilityReporter } from ${JSON.stringify(`${HERE}reporter.ts`)};
     const expected = new URL("expected.json", import.meta.url);
     export default { test: { include: ["*.planted.ts"], reporters: [new CapabilityReporter(expected)] } };`,
  );
  return spawnSync(process.execPath, [VITEST, "run", "--root", root], {
    encoding: "utf8",
    env: { ...process.env, ...env, SANDBOXER_RUN_DIRECTORY: "" },
  });
}

vitestDescribe("a run that requires capabilities", () => {
  const root = mkdtempSync(join(HERE, "planted-"));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(
    join(root, "one.planted.ts"),
    `import { expect, it } from "vitest";
     import { requires } from "../requires.ts";
     const user = await requires("ordinary-user");
     user.describe("there", () => it("runs", () => expect(user.given["ordinary-user"].uid).toBeGreaterThan(0)));
     const docker = await requires("docker", "ordinary-user");
     docker.it("skips alone", () => expect(1).toBe(2));
     docker.describe("not there", () => { it("skips", () => expect(1).toBe(2)); it("skips too", () => {}); });`,
  );

  it("runs what is there, skips what is not with one line, and says the closing line", () => {
    const { stdout, status } = runVitest(root, { docker: 2 }, { CI: "" });
    expect(stdout).toMatch(/^ {2}docker +0 ran, 3 skipped: .+$/m);
    expect(stdout).toMatch(/^ {2}ordinary-user +1 ran, 3 skipped$/m);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe("1 passed, 0 failed, 3 skipped");
    expect(status).toBe(0);
  });

  it("counts a hook that fails", () => {
    writeFileSync(
      join(root, "two.planted.ts"),
      `import { beforeAll, describe, it } from "vitest";
       describe("x", () => { beforeAll(() => { throw new Error("no"); }); it("y", () => {}); });`,
    );
    const { stdout, status } = runVitest(root, {}, { CI: "" });
    rmSync(join(root, "two.planted.ts"));
    expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^1 passed, 1 failed, /);
    expect(status).toBe(1);
  });

  it("fails in CI when fewer ran than promised", () => {
    const { stdout, status } = runVitest(root, { docker: 2 }, { CI: "true" });
    expect(stdout).toContain("FAILED docker: 0 tests ran, and expected.json promises 2");
    expect(status).toBe(1);
  });

  it("passes in CI when as many ran as promised", () => {
    expect(runVitest(root, { "ordinary-user": 1 }, { CI: "true" }).status).toBe(0);
  });
});

const { describe, given } = await requires("docker");
describe("a docker daemon of our own", () => {
  it("answers on a private socket, has no network and is reachable for every test file", () => {
    const said = spawnSync(
      given.docker.cli,
      ["--host", given.docker.host, "network", "ls", "--format", "{{.Name}}"],
      {
        encoding: "utf8",
      },
    );
    expect(said.stdout.split("\n").filter(Boolean).sort()).toEqual(["host", "none"]);
  });
});
