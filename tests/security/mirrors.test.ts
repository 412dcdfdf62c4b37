import { lstat, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Box, collect, execRequestSchema, type Synced } from "@sandboxer/contract";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { treeHash } from "./tree-hash.ts";
import { openWorkspaceLab, type WorkspaceLab } from "./workspace-lab.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

/** Longer than the clock by which the kernel stamps files stands still. */
const A_TICK_MS = 20;

describe("mirrors of a folder of the host", () => {
  let place: string;
  let project: string;
  let outside: string;
  let lab: WorkspaceLab;
  let box: Box;

  const create = (mode: "mirror" | "remote", source = project) => lab.create(source, mode);
  const sh = async (script: string, user?: string) => {
    const argv = ["/bin/sh", "-c", `cd /workspace && ${script}`];
    const request = execRequestSchema.parse({ argv, ...(user && { user }) });
    const { stdout, stderr, exit } = await collect(await box.exec(request, "att"));
    expect([new TextDecoder().decode(stderr), exit]).toEqual(["", { kind: "exited", code: 0 }]);
    await sleep(A_TICK_MS);
    return new TextDecoder().decode(stdout);
  };
  const sync = async (): Promise<Synced> => {
    await sleep(A_TICK_MS);
    const synced = await box.mirror?.sync();
    if (!synced) throw new Error("it has no mirror");
    return synced;
  };
  const text = (name: string) => readFile(join(project, name), "utf8");

  beforeAll(async () => {
    lab = await openWorkspaceLab("mirrors");
    ({ place } = lab);
  });
  beforeEach(async () => {
    if (box) await lab.destroy(box);
    project = join(place, "project");
    outside = join(place, "outside");
    for (const folder of [project, outside]) await rm(folder, { recursive: true, force: true });
    await mkdir(join(project, "src/deep"), { recursive: true });
    await mkdir(outside);
    await writeFile(join(outside, "canary"), "canary\n");
    await writeFile(join(project, "notes"), "one\n");
    await writeFile(join(project, "src/run"), "#!/bin/sh\n", { mode: 0o755 });
    await writeFile(join(project, "src/deep/old"), "old\n");
    await symlink("notes", join(project, "link"));
    await sleep(A_TICK_MS);
    box = await create("mirror");
  });
  afterAll(() => lab.close());

  it("has the folder as it is, for its user to write", async () => {
    expect(
      await sh("find . | sort; cat notes link; stat -c %a src/run; touch mine; ls -l mine | cut -c1-10"),
    ).toBe(".\n./link\n./notes\n./src\n./src/deep\n./src/deep/old\n./src/run\none\none\n755\n-rw-r--r--\n");
  });

  it("brings back what was added, changed and deleted, and nothing else is touched", async () => {
    const before = (await lstat(join(project, "src/run"))).ino;
    await sh(
      "echo two >> notes; mkdir -p new/d; echo x > new/d/f; rm -r src/deep; chmod 600 src/run; ln -s d new/l",
    );
    const synced = await sync();
    expect(synced).toMatchObject({ kept: [], heldBack: [], pushed: 0 });
    expect(await text("notes")).toBe("one\ntwo\n");
    expect(await text("new/l/f")).toBe("x\n");
    expect((await readdir(join(project, "src"))).sort()).toEqual(["run"]);
    expect([
      (await lstat(join(project, "src/run"))).ino,
      (await lstat(join(project, "src/run"))).mode & 0o777,
    ]).toEqual([before, 0o600]);
    expect(await sync()).toEqual({ pulled: [], pushed: 0, kept: [], heldBack: [], skipped: 0 });
  });

  it("takes in what the host added, changed and deleted", async () => {
    await writeFile(join(project, "notes"), "host\n");
    await rm(join(project, "src/deep"), { recursive: true });
    await writeFile(join(project, "fresh"), "fresh\n");
    expect(await sync()).toMatchObject({ pulled: [], kept: [] });
    expect(await sh("cat notes fresh; ls src")).toBe("host\nfresh\nrun\n");
    expect(await sync()).toMatchObject({ pulled: [], pushed: 0 });
  });

  it("keeps both where both sides changed the same, on both sides", async () => {
    await sh("echo inside > notes; rm src/run; echo gone > src/deep/old");
    await writeFile(join(project, "notes"), "host!!\n");
    await writeFile(join(project, "src/run"), "changed\n");
    await rm(join(project, "src/deep"), { recursive: true });
    const { kept } = await sync();
    expect(kept).toEqual([{ path: "notes", keptAs: expect.stringMatching(/^notes\.conflict-[0-9a-f]{8}$/) }]);
    expect([await text("notes"), await text(kept[0]?.keptAs ?? "")]).toEqual(["host!!\n", "inside\n"]);
    // Who deletes loses to who changes.
    expect([await text("src/run"), await text("src/deep/old")]).toEqual(["changed\n", "gone\n"]);
    await sync();
    expect(await sh("cat notes notes.conflict-*; cat src/run")).toBe("host!!\ninside\nchanged\n");
    expect(await sync()).toMatchObject({ pulled: [], pushed: 0, kept: [] });
  });

  it("keeps both where one side made a folder of what the other wrote to", async () => {
    await sh("rm notes; mkdir notes; echo below > notes/f; rm -r src; echo flat > src");
    await writeFile(join(project, "notes"), "host wrote\n");
    await writeFile(join(project, "src/run"), "host ran\n");
    const { kept } = await sync();
    expect(await text("notes")).toBe("host wrote\n");
    expect(await text("src/run")).toBe("host ran\n");
    const names = (await readdir(project)).filter((name) => name.includes(".conflict-")).sort();
    expect(names).toHaveLength(2);
    expect([await text(join(names[0] ?? "", "f")), await text(names[1] ?? "")]).toEqual([
      "below\n",
      "flat\n",
    ]);
    expect(kept.length).toBeGreaterThanOrEqual(2);
    await sync();
    expect(await sync()).toMatchObject({ pulled: [], pushed: 0, kept: [] });
    expect(await sh("cat notes src/run")).toBe("host wrote\nhost ran\n");
  });

  it("agrees again after a death between the writing and the remembering", async () => {
    const state = join(place, "engine/mirrors", `${box.ref}.json`);
    const remembered = await readFile(state);
    await sh("echo inside > notes; echo new > fresh; rm src/run");
    await writeFile(join(project, "notes"), "host!!\n");
    await writeFile(join(project, "theirs"), "host\n");
    const first = await sync();
    const reached = await treeHash(project);
    await writeFile(state, remembered);
    const second = await sync();
    expect(second.kept).toEqual([]);
    expect(first.kept).toHaveLength(1);
    await sync();
    expect(await treeHash(project)).toBe(reached);
    expect(await sh("cat notes theirs fresh")).toBe("host!!\nhost\nnew\n");
  });

  it("does not bring back what a dead gateway had half written inside", async () => {
    const state = join(place, "engine/mirrors", `${box.ref}.json`);
    await writeFile(join(project, "notes"), "a longer text of the host\n");
    const remembered = JSON.parse(await readFile(state, "utf8"));
    // As it is written before anything goes in.
    const onItsWay = { type: "file", mode: 0, size: 0, mtimeMs: -2 };
    remembered.base.inside = remembered.base.inside.map(([path, fact]: [string, unknown]) =>
      path === "notes" ? [path, onItsWay] : [path, fact],
    );
    await sh("printf 'a lon' > notes");
    await writeFile(state, JSON.stringify(remembered));
    expect(await sync()).toMatchObject({ pulled: [], kept: [], pushed: 1 });
    expect(await sh("cat notes")).toBe("a longer text of the host\n");
  });

  it("FS-2 leaves pipes, sockets and set-user-id inside, and links that lead out", async () => {
    const before = await treeHash(outside);
    await sh(
      "mkfifo pipe; echo x > tool; chmod 6755 tool; ln -s /etc/passwd away; ln -s ../../outside up; echo ok > fine",
    );
    const synced = await sync();
    expect((await readdir(project)).sort()).toEqual(["fine", "link", "notes", "src", "tool"]);
    expect((await lstat(join(project, "tool"))).mode & 0o7777).toBe(0o755);
    expect(synced.heldBack.map(({ path }) => path).sort()).toEqual(["away", "up"]);
    expect(await treeHash(outside)).toBe(before);
    // Told once, and left alone from then on.
    expect(await sync()).toMatchObject({ heldBack: [], pulled: [], pushed: 0 });
  });

  it("FS-8 brings nothing back that git on the host would run", async () => {
    await sh(
      "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo '[core]' > .git/config; echo x > .git/index",
    );
    const { heldBack } = await sync();
    expect(heldBack.map(({ path }) => path).sort()).toEqual([
      ".git/config",
      ".git/hooks",
      ".git/hooks/pre-commit",
    ]);
    expect(await readdir(join(project, ".git"))).toEqual(["index"]);
  });

  it("follows no link of the host's: what one leads to is neither read nor written", async () => {
    await symlink(outside, join(project, "out"));
    const before = await treeHash(outside);
    await sync();
    expect(await sh("readlink out; test -e out/canary || echo none")).toBe(`${outside}\nnone\n`);
    await sh("rm out; mkdir out; echo evil > out/canary");
    await sync();
    expect(await treeHash(outside)).toBe(before);
    expect(await text("out/canary")).toBe("evil\n");
  });

  it("RL-10 refuses a file larger than a mirror takes, and nothing of that run comes back", async () => {
    const before = await treeHash(project);
    await sh("truncate -s 17G huge; echo small > small");
    await expect(sync()).rejects.toMatchObject({ code: "storage_full" });
    expect(await treeHash(project)).toBe(before);
    await sh("rm huge");
    expect((await sync()).pulled).toEqual(["small"]);
  });

  it("RL-10 takes many, and of what is deeper than its cap nothing", async () => {
    await sh("i=0; while [ $i -lt 500 ]; do : > f$i; i=$((i+1)); done");
    await sh("for i in $(seq 300); do mkdir d && cd d; done; : > deepest");
    await sync();
    const names = await readdir(project, { recursive: true });
    expect(names.filter((name) => /^f\d+$/.test(name))).toHaveLength(500);
    expect(Math.max(...names.map((name) => name.split("/").length))).toBe(256);
    expect(names.join()).not.toContain("deepest");
    await sh("rm -r d");
    await sync();
    expect((await readdir(project)).includes("d")).toBe(false);
  });

  it("FS-7 ends without touching the folder, whatever is in it", async () => {
    await sh("echo late > late; rm -rf src");
    const before = await treeHash(project);
    await lab.destroy(box);
    expect(await treeHash(project)).toBe(before);
    expect(await readdir(join(place, "engine/mirrors"))).toEqual([]);
    box = await create("mirror");
  });

  it("takes a folder inside that is gone as a whole for an accident, and fills it again", async () => {
    const before = await treeHash(project);
    await sh("cd / && rm -rf /workspace", "root");
    expect(await sync()).toMatchObject({ pulled: [] });
    expect(await treeHash(project)).toBe(before);
    expect(await sh("cat notes")).toBe("one\n");
  });

  it("leaves alone what nobody may look into, instead of taking it for deleted", async () => {
    await sh("chmod 000 src");
    expect(await sync()).toMatchObject({ pulled: [] });
    expect(await text("src/deep/old")).toBe("old\n");
    await sh("chmod 755 src");
    expect(await sync()).toMatchObject({ pulled: [], pushed: 0 });
  });

  it("FS-5 writes to the very folder, and to no other that takes its name", async () => {
    await sh("echo inside > notes");
    await rename(project, join(place, "moved"));
    await mkdir(project);
    const before = await treeHash(project);
    await expect(sync()).rejects.toMatchObject({ code: "conflict" });
    expect(await treeHash(project)).toBe(before);
    await rm(join(place, "moved"), { recursive: true });
  });

  it("refuses sensitive folders, as a mirror and as a remote", async () => {
    for (const mode of ["mirror", "remote"] as const) {
      for (const source of ["/etc", "/", "/root/.ssh", join(place, "engine")]) {
        const outcome = await create(mode, source).then(
          () => "made",
          ({ code }) => code,
        );
        expect([source, ["policy_denied", "path_not_found"].includes(outcome)]).toEqual([source, true]);
      }
    }
  });

  it("a remote is seeded once, and from then on nobody's but its own", async () => {
    const remote = await create("remote");
    const before = await treeHash(project);
    const kept = box;
    box = remote;
    expect(remote.mirror).toBeUndefined();
    expect(await sh("cat notes; echo mine > notes; echo more > more")).toBe("one\n");
    await writeFile(join(project, "later"), "later\n");
    expect(await sh("cat notes more; test -e later || echo none")).toBe("mine\nmore\nnone\n");
    await rm(join(project, "later"));
    expect(await treeHash(project)).toBe(before);
    await lab.destroy(remote);
    box = kept;
  });

  it("is the same after the gateway has gone and come back", async () => {
    await sh("echo before > notes");
    await sync();
    box.close();
    box = await lab.attach(box);
    await sh("echo after > notes");
    expect((await sync()).pulled).toEqual(["notes"]);
    expect(await text("notes")).toBe("after\n");
  });
});
