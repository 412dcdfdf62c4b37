import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openGateway } from "@sandboxer/gateway";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");
const blocks = (language: string): string[] =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
    ([, body]) => body ?? "",
  );

const { describe } = await requires("linux-userns", "boxd");

describe("the README does what it says", () => {
  let home: string;
  const run = promisify(execFile);
  const onPath = readme.split("\n").find((line) => line.startsWith("export PATH=")) ?? "";
  /** In a terminal where the page's line about the PATH was typed. */
  const shell = (script: string, env: object = {}) =>
    run("sh", ["-euc", `${onPath}\n${script}`], {
      cwd: root,
      timeout: 150_000,
      env: { ...process.env, SANDBOXER_HOME: home, ...env },
    });

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-readme-"));
  });
  afterAll(() => removeEngine(join(home, "engine"), home));

  it("has the two commands, word for word, and CI runs the second", () => {
    expect(blocks("sh")).toContain("npm install && npm start\n");
    expect(blocks("sh")).toContain("npm install && npm test\n");
    expect(readFileSync(join(root, ".ci/run"), "utf8")).toContain("npm install && npm test\n");
  });

  it("prints hi and nothing else", async () => {
    const block = blocks("sh").find((body) => body.includes("run -- echo hi")) ?? "";
    expect(block).toContain(onPath);
    expect(await shell(block)).toEqual({ stdout: "hi\n", stderr: "" });
    expect((await shell("cd / && sandboxer run -- echo hi")).stdout, "from any folder").toBe("hi\n");
  });

  it("walks through a first sandbox", async () => {
    const block = blocks("sh").find((body) => body.includes("create --name demo")) ?? "";
    const { stdout } = await shell(block);
    expect(stdout).toMatch(/^[a-z0-9]{20}\nuid=1000\(user\)/);
    expect(stdout).toContain("demo");
    expect((await shell("sandboxer ls --json")).stdout).not.toContain("running");
  });

  it("walks through a project, copy-on-write, as it stands", async () => {
    const block = blocks("sh").find((body) => body.includes("-w $project --")) ?? "";
    for (const verb of ["run", "diff", "apply", "fork", "rollback", "receipt", "rm"]) {
      expect(block).toContain(`sandboxer ${verb} `);
    }
    const { stdout, stderr } = await shell(`${block}cat $project/notes; ls $project; rm -r $project`);
    expect(stderr).toBe("");
    expect(stdout).toContain("-two\n+zwei\n");
    expect(stdout, "the copy kept what was taken back in the first").toMatch(/^A +more/m);
    expect(stdout).toMatch(/^where {4}local on /m);
    expect(stdout).toMatch(/^cost {5}\$0\.0/m);
    expect(stdout).toMatch(/\nfix\n[a-z0-9]{20}\none\nzwei\nnotes\n$/);
    expect((await shell("sandboxer ls --json")).stdout).not.toContain("running");
  }, 300_000);

  it("runs the TypeScript example", async () => {
    const demo = join(root, `demo.${process.pid}.ts`);
    const gateway = await openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: () => {} });
    try {
      const code = (blocks("ts")[0] ?? "").replace("http://127.0.0.1:7070", gateway.url ?? "");
      await writeFile(demo, code);
      const line = blocks("sh").find((body) => body.includes("node demo.ts")) ?? "";
      const ours = line.replace("demo.ts", demo).replace("~/.sandboxer", "$SANDBOXER_HOME");
      expect((await shell(ours)).stdout).toBe("42\n\n");
    } finally {
      await rm(demo, { force: true });
      await gateway.close();
    }
  });
});
