import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { describe } = await requires("linux-userns", "boxd");

describe("the walk does what it says", () => {
  it("runs on a project, shows, applies, stops, forks and goes back to before a run", {
    timeout: 300_000,
  }, async () => {
    const place = await mkdtemp(join(tmpdir(), "sandboxer-walk-"));
    const home = join(place, "home");
    onTestFinished(() => removeEngine(join(home, "engine"), place));
    const page = readFileSync(join(root, "docs/walk.md"), "utf8");
    const [, block = ""] = /^```sh\n([\s\S]*?)^```$/m.exec(page) ?? [];
    const env = {
      ...process.env,
      PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}`,
      SANDBOXER_HOME: home,
      TMPDIR: place,
      NO_COLOR: "1",
    };
    const { stdout, stderr } = await promisify(execFile)("sh", ["-euc", block], { env, timeout: 280_000 });
    expect(stderr).toBe("");
    expect(stdout).toContain("-two\n+zwei\n");
    expect(stdout).toContain("tool\nnew\n");
    expect(stdout).toMatch(/^\d+ +sh -c rm -r \* /m);
    expect(stdout, "before the run that went wrong").toContain("\nbetter\n");
    expect(stdout.slice(-25)).toMatch(/\none\nzwei\nold\nmore\n$/);
    const left = await promisify(execFile)(join(root, "node_modules/.bin/sandboxer"), ["ls", "--quiet"], {
      env,
    });
    expect(left.stdout.trim()).toBe("");
  });
});
