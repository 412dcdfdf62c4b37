import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { ensureDebianPackage } from "../capabilities/debian.ts";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf } from "../e2e/cli-process.ts";
import { treeHash } from "./tree-hash.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

const AS = "-c user.name=a -c user.email=a@example.com";

describe("a linked work tree of git as a copy-on-write workspace", () => {
  let place: string;
  let cli: ReturnType<typeof cliOf>;
  const git = (folder: string, ...args: string[]) =>
    promisify(execFile)("git", ["-C", join(place, folder), ...AS.split(" "), ...args]);
  const said = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli.run(args);
    expect({ code, stderr }, args.join(" ")).toEqual({ code: 0, stderr: "" });
    return stdout.trim();
  };
  const sh = (name: string, script: string) => said("exec", name, "--", "sh", "-ec", script);

  beforeAll(async () => {
    await ensureDebianPackage("git");
    // Not below /tmp, which is another one inside.
    place = await mkdtemp("/var/tmp/sandboxer-worktrees-");
    cli = cliOf(join(place, "installation"));
    await mkdir(join(place, "main"));
    await git("main", "init", "-q", "-b", "trunk");
    await writeFile(join(place, "main/file"), "one\n");
    await git("main", "add", "file");
    await git("main", "commit", "-qm", "first");
    await git("main", "worktree", "add", "-q", "-b", "side", "../linked");
  });
  afterAll(() => removeEngine(join(place, "installation/engine"), place));

  it("has a history that git reads and writes inside, and nothing of it on the host", async () => {
    await said("create", "--name", "work", "--persistent", "-w", join(place, "linked"));
    expect(await sh("work", "git status --short; git log --format=%s; git branch --show-current")).toBe(
      "first\nside",
    );
    const before = [await treeHash(join(place, "main")), await treeHash(join(place, "linked"))];
    await sh("work", "echo two >> file; git diff --stat | grep -q file");
    await sh("work", `git add file && git ${AS} commit -qm second && git fsck --connectivity-only`);
    expect(await sh("work", "git log --format=%s; git status --short")).toBe("second\nfirst");
    expect([await treeHash(join(place, "main")), await treeHash(join(place, "linked"))]).toEqual(before);
    expect(await said("diff", "work", "--stat")).toBe("M  file  (+1 -0)");
    const copy = await said("fork", "work");
    expect(await sh(copy, "git log --format=%s"), "what was committed goes with a copy").toBe(
      "second\nfirst",
    );
    await said("stop", "work");
    await said("start", "work");
    expect(await sh("work", "git log --format=%s"), "and stays").toBe("second\nfirst");
    expect(await said("apply", "work")).toBe("file");
    expect((await git("main", "log", "--all", "--format=%s")).stdout, "a commit does not").toBe("first\n");
    expect((await git("linked", "status", "--short")).stdout).toBe(" M file\n");
    await said("rm", "work", copy);
  });

  it("SN-6 has its branches where they were left, in every copy of it", async () => {
    await git("main", "branch", "-f", "doomed");
    await said("create", "--name", "packed", "--persistent", "-w", join(place, "linked"));
    const tips = (name: string) => sh(name, "git for-each-ref --format='%(refname:short) %(subject)'");
    expect(await tips("packed"), "control: the host's").toBe("doomed first\nside first\ntrunk first");
    await sh("packed", `git ${AS} commit -q --allow-empty -m later && git pack-refs --all`);
    await sh("packed", "git branch -qD doomed");
    const left = "side later\ntrunk first";
    expect(await tips("packed")).toBe(left);
    const fork = await said("fork", "packed");
    expect(await tips(fork), "a fork of one that runs").toBe(left);
    const snapshot = JSON.parse(await said("snapshot", "packed", "--json")).id;
    const restored = await said("create", "--from", snapshot, "-w", join(place, "linked"));
    expect(await tips(restored), "a snapshot").toBe(left);
    await said("stop", "packed");
    const shared = await said("fork", "packed");
    expect(await tips(shared), "a fork of one that is stopped").toBe(left);
    await said("start", "packed");
    expect(await tips("packed"), "itself").toBe(left);
    expect(await sh("packed", "git log --format=%s")).toBe("later\nfirst");
    await said("rm", "packed", fork, restored, shared);
  });

  it("has the host's history where a snapshot brings none", async () => {
    await said("create", "--name", "bare");
    const snapshot = JSON.parse(await said("snapshot", "bare", "--json")).id;
    const restored = await said("create", "--from", snapshot, "-w", join(place, "linked"));
    expect(await sh(restored, "git log --format=%s")).toBe("first");
    await said("rm", "bare", restored);
  });

  it("is made where the repository has more names than are copied, and told what it lacks", async () => {
    await mkdir(join(place, "many"));
    await git("many", "init", "-q", "-b", "trunk");
    await git("many", "commit", "-q", "--allow-empty", "-m", "first");
    await git("many", "worktree", "add", "-q", "-b", "side", "../of-many");
    const tip = (await git("many", "rev-parse", "HEAD")).stdout;
    const fill = async (folder: string, text: string) => {
      await mkdir(join(place, "many/.git", folder), { recursive: true });
      for (let at = 0; at <= 20_000; at += 1) writeFileSync(join(place, "many/.git", folder, `${at}`), text);
    };
    const create = async () => JSON.parse(await said("create", "--json", "-w", join(place, "of-many")));
    await fill("logs/refs/remotes/a", "");
    const without = await create();
    expect(await sh(without.id, "git log --format=%s"), "without their journals").toBe("first");
    await fill("refs/remotes/a", tip);
    const lacking = await create();
    expect(lacking.bestEffort).toContainEqual(expect.stringContaining("git pack-refs --all"));
    await git("many", "pack-refs", "--all");
    const packed = await create();
    expect(packed.bestEffort).toEqual(without.bestEffort);
    expect(await sh(packed.id, "git branch -r | wc -l"), "control: as the hint says").toBe("20001");
    await said("rm", without.id, lacking.id, packed.id);
  });

  it("FS-5 is not believed: what does not name it back is not shown", async () => {
    const secret = join(place, "secret");
    await mkdir(join(secret, "objects"), { recursive: true });
    await mkdir(join(secret, "worktrees/x"), { recursive: true });
    for (const [name, text] of [
      ["HEAD", "ref: refs/heads/x\n"],
      ["objects/canary", "CANARY"],
      ["config", "[core]\n\tbare = false\n[credential]\n\thelper = CANARY\n"],
      ["worktrees/x/commondir", "../..\n"],
      ["worktrees/x/gitdir", `${join(place, "other/.git")}\n`],
    ])
      await writeFile(join(secret, name as string), text as string);
    await mkdir(join(place, "hostile"));
    await writeFile(join(place, "hostile/.git"), `gitdir: ${secret}/worktrees/x\n`);
    const refused = async () => {
      const made = JSON.parse(await said("create", "--json", "-w", join(place, "hostile")));
      expect(made.bestEffort).toContainEqual(expect.stringContaining("git does not work inside"));
      expect(await sh(made.id, `ls -A ${secret} 2>&1 || true`)).toContain("No such file");
      await said("rm", made.id);
    };
    await refused();
    // One that names it back, with objects that are a link elsewhere.
    await writeFile(join(secret, "worktrees/x/gitdir"), `${join(place, "hostile/.git")}\n`);
    await rm(join(secret, "objects"), { recursive: true });
    await symlink(join(place, "main"), join(secret, "objects"));
    await refused();
    await rm(join(secret, "objects"));
    await mkdir(join(secret, "objects"));
    const made = await said("create", "-w", join(place, "hostile"));
    expect(await sh(made, `cat ${secret}/config`), "control: now it is its repository").toBe(
      "[core]\n\tbare = false",
    );
    const found = await sh(made, `grep -rl CANARY ${secret} || true`);
    expect(found, "SN-1 no word of its owner's").toBe("");
    await said("rm", made);
    expect(await readFile(join(secret, "config"), "utf8"), "the host's is as it was").toContain("CANARY");
  });
});
