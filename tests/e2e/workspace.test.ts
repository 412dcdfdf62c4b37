import { execFile } from "node:child_process";
import { lstat, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

/** Longer than the clock by which the kernel stamps files stands still. */
const A_TICK_MS = 15;

describe("a project in a sandbox, copy-on-write", () => {
  let home: string;
  let project: string;
  let cli: ReturnType<typeof cliOf>;
  const text = (name: string) => readFile(join(project, name), "utf8");
  const git = (...args: string[]) => promisify(execFile)("git", ["-C", project, ...args]);
  const said = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli.run(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout;
  };
  const summary = async (...args: string[]) => (await said("diff", ...args, "--stat")).trim().split("\n");

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-workspace-"));
    cli = cliOf(join(home, "home"));
  });
  beforeEach(async () => {
    await cli.run(["rm", "--all"]);
    project = join(home, "project");
    await rm(project, { recursive: true, force: true });
    await mkdir(join(project, "src"), { recursive: true });
    await writeFile(join(project, "README"), "one\ntwo\nthree\n");
    await writeFile(join(project, "src/run"), "#!/bin/sh\n");
    await writeFile(join(project, "old"), "old\n");
    await writeFile(join(project, "blob"), Buffer.from([0, 1, 2, 3]));
    await symlink("README", join(project, "link"));
    await git("init", "-q");
    await git("add", "-A");
    await sleep(A_TICK_MS);
  }, 300_000);
  afterAll(() => removeEngine(join(home, "home/engine"), home), 60_000);

  const EDIT =
    "sed -i s/two/zwei/ README; chmod +x src/run; rm old; echo new > src/new; printf '\\0x' > blob; ln -sf src link; mkdir d; mkfifo p";

  it("runs where the folder is, says nothing of its own, and leaves the folder alone", async () => {
    const out = await said("run", "-w", project, "--", "sh", "-c", `pwd; cat README; ${EDIT}`);
    expect(out).toBe("/workspace\none\ntwo\nthree\n");
    expect(await text("README")).toBe("one\ntwo\nthree\n");
    expect((await git("status", "--short")).stdout).not.toMatch(/^.[^ ]/m);
  });

  it("keeps the sandbox for its changes, and only for those", async () => {
    await said("run", "-w", project, "--", "cat", "README");
    expect(await said("ls", "--json")).not.toContain("running");
    await said("run", "--name", "kept", "-w", project, "--", "touch", "new");
    expect(await said("ls", "--json")).toContain('"kept"');
  });

  it("tells every kind of change, as lines, as JSON and as a patch that git takes", async () => {
    await said("run", "--name", "edit", "-w", project, "--", "sh", "-c", EDIT);
    expect(await summary("edit")).toEqual([
      "M  README  (+1 -1)",
      "M  blob  (binary)",
      "A  d/",
      "M  link  (+1 -1)",
      "D  old  (+0 -1)",
      "A  p  (stays in the sandbox)",
      "A  src/new  (+1 -0)",
      "M  src/run  (0644 → 0755)",
    ]);
    const lines = (await said("diff", "edit", "--json")).trim().split("\n");
    const [readme] = lines.map((line) => JSON.parse(line));
    expect(readme).toMatchObject({ path: "README", change: "changed", added: 1, removed: 1, mode: 0o644 });
    expect(await summary("edit", "src", "old")).toHaveLength(3);

    const patch = await said("diff", "edit", "README", "old", "src", "link");
    await writeFile(join(home, "patch"), patch);
    await git("apply", join(home, "patch"));
    expect(await text("README")).toBe("one\nzwei\nthree\n");
    expect(await text("src/new")).toBe("new\n");
    expect((await lstat(join(project, "src/run"))).mode & 0o111).toBe(0o111);
    await expect(lstat(join(project, "old"))).rejects.toThrow("ENOENT");
  });

  it("gives a program a patch that git takes, and says what is not in it", async () => {
    const commit = "git -c user.name=n -c user.email=e@x commit -qam inside";
    const MORE = `printf 'a\\0b' > added; head -c 2000000 /dev/zero | tr '\\0' x > large; : > empty; rm src/run && ln -s ../README src/run; rm link && cp README link; printf 'no end' > end; printf 'x\\n' > 'a "name"'; mkdir src/d && echo deep > src/d/f; printf 'caf\\351\\n' > latin; ${commit}`;
    await said("run", "--name", "edit", "-w", project, "--", "sh", "-c", `${EDIT}; ${MORE}`);
    const beside = join(home, "beside");
    const applied = async (...flags: string[]) => {
      await rm(beside, { recursive: true, force: true });
      await promisify(execFile)("cp", ["-a", project, beside]);
      const { code, stdout, stderr } = await cli.run(["diff", "edit", ...flags]);
      expect(code).toBe(0);
      await writeFile(join(home, "patch"), stdout);
      await promisify(execFile)("git", ["-C", beside, "apply", join(home, "patch")]);
      return { stdout, stderr };
    };
    const plain = await applied();
    expect(plain.stdout).not.toContain(".git/");
    expect(plain.stderr).toMatch(/^not in the patch: .*\(in \.git\).* more; --binary .*apply.*\n$/);
    expect(await readFile(join(beside, "README"), "utf8")).toBe("one\nzwei\nthree\n");
    expect(await readFile(join(beside, "blob")), "binary: as it was").toEqual(Buffer.from([0, 1, 2, 3]));

    const whole = await applied("--binary");
    expect(whole.stderr).toContain("(in .git)");
    expect(whole.stderr).not.toMatch(/binary\)|large\)|was a/);
    // The same as what is brought over the other way, but for what git knows nothing of.
    await said("apply", "edit");
    const { stdout: differences } = await promisify(execFile)(
      "diff",
      ["-rq", "--no-dereference", "-x", ".git", "-x", "d", "-x", "p", project, beside],
      { encoding: "utf8" },
    ).catch(({ stdout }) => ({ stdout }));
    expect(differences).toBe("");
    expect(await readFile(join(beside, "src/d/f"), "utf8")).toBe("deep\n");
  });

  it("finds the newest sandbox of this folder by itself", async () => {
    const sandboxer = (...args: string[]) => cli.commandLine(args);
    const script = [
      `cd '${project}'`,
      sandboxer("run", "-w", ".", "--", "touch", "first"),
      sandboxer("run", "-w", ".", "--", "touch", "second"),
      sandboxer("diff", "--stat"),
    ].join(" && ");
    const { stdout } = await promisify(execFile)("sh", ["-c", script], { env: cli.environment });
    expect(stdout).toBe("A  second  (+0 -0)\n");
  });

  it("says of one that is stopped that it is to be started, and then has everything", async () => {
    await said("create", "--name", "kept", "--persistent", "-w", project);
    await said("exec", "kept", "--", "sh", "-c", "echo more >> README");
    await said("stop", "kept");
    for (const verb of ["diff", "apply", "rollback"]) {
      const refused = await cli.run([verb, "kept", "--json"]);
      expect([verb, refused.code]).toEqual([verb, 75]);
      expect(JSON.parse(refused.stderr).error).toMatchObject({
        code: "invalid_state",
        hint: expect.stringContaining("sandboxer start kept"),
      });
    }
    const script = `cd '${project}' && ${cli.commandLine(["diff", "--stat"])}`;
    const unnamed = promisify(execFile)("sh", ["-c", script], { env: cli.environment });
    await expect(unnamed).rejects.toMatchObject({ stderr: expect.stringContaining("sandboxer start kept") });
    expect(await text("README")).toBe("one\ntwo\nthree\n");
    await said("start", "kept");
    expect(await summary("kept")).toEqual(["M  README  (+1 -0)"]);
    expect(await said("apply", "kept")).toBe("README\n");
  });

  it("applies some, then all, and then there is nothing left to apply", async () => {
    await said("run", "--name", "edit", "-w", project, "--", "sh", "-c", EDIT);
    expect(await said("apply", "edit", "src/new", "old")).toBe("old\nsrc/new\n");
    expect(await text("README")).toBe("one\ntwo\nthree\n");
    expect((await said("apply", "edit")).trim().split("\n")).toEqual([
      "README",
      "blob",
      "d",
      "link",
      "src/run",
    ]);
    expect(await text("README")).toBe("one\nzwei\nthree\n");
    expect(await summary("edit")).toEqual(["A  p  (stays in the sandbox)"]);
    expect(await cli.run(["apply", "edit"])).toEqual({
      code: 0,
      stdout: "",
      stderr: "nothing to apply: the folder has what was changed inside\n",
    });
    await said("exec", "edit", "--", "sh", "-c", "echo four >> README");
    expect(await said("apply", "edit")).toBe("README\n");
  });

  it("refuses to apply over what changed here meanwhile, unless told to", async () => {
    await said("run", "--name", "edit", "-w", project, "--", "sh", "-c", EDIT);
    await writeFile(join(project, "README"), "mine\n");
    const refused = await cli.run(["apply", "edit", "--json"]);
    expect(refused.code).toBe(75);
    expect(JSON.parse(refused.stderr).error).toMatchObject({
      code: "conflict",
      details: { conflicts: [{ path: "README", why: expect.stringContaining("meanwhile") }] },
      hint: expect.stringContaining("`--force`"),
    });
    expect(await text("README")).toBe("mine\n");
    expect(await text("old")).toBe("old\n");
    await said("apply", "edit", "--force");
    expect(await cli.run(["apply", "edit"])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringContaining("nothing to apply"),
    });
    expect(await text("README")).toBe("one\nzwei\nthree\n");
  });

  it("rolls back to before anything ran", async () => {
    await said("run", "--name", "edit", "-w", project, "--", "sh", "-c", EDIT);
    await said("rollback", "edit", "README");
    expect(await summary("edit")).not.toContain("M  README  (+1 -1)");
    await said("rollback", "edit");
    expect(await said("diff", "edit")).toBe("");
    expect(await said("exec", "edit", "--", "cat", "README", "link", "old")).toContain("old");
  });

  it("gives a folder to read, or to write, where that is asked for", async () => {
    const reading = ["run", "-w", `${project}:/src`, "--access", "read-only", "--"];
    expect(await said(...reading, "sh", "-c", "pwd; cat README; touch x 2>/dev/null || echo no")).toBe(
      "/src\none\ntwo\nthree\nno\n",
    );
    await said("run", "-w", project, "--access", "read-write", "--", "sh", "-c", "echo here > here");
    expect(await text("here")).toBe("here\n");
    const owner = (await lstat(project)).uid;
    expect((await lstat(join(project, "here"))).uid).toBe(owner);
    await cli.run(["create", "--name", "rw", "-w", project, "--access", "read-write"]);
    expect((await cli.run(["diff", "rw"])).stderr).toContain("not copy-on-write");
  });
});
