import { execFile } from "node:child_process";
import { access, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { type Box, collect, execRequestSchema, SandboxerError } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { treeHash } from "./tree-hash.ts";
import { openWorkspaceLab, type WorkspaceLab } from "./workspace-lab.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const A_TICK_MS = 15;
const run = promisify(execFile);

describe("folders of the host in a sandbox", () => {
  let place: string;
  let project: string;
  let home: string;
  let lab: WorkspaceLab;

  const create: WorkspaceLab["create"] = (...asked) => lab.create(...asked);
  const destroy = (box: Box) => lab.destroy(box);
  const sh = async (box: Box, script: string, user?: string) => {
    const request = execRequestSchema.parse({ argv: ["/bin/sh", "-c", script], ...(user && { user }) });
    const { stdout, exit } = await collect(await box.exec(request, "att"));
    return { text: new TextDecoder().decode(stdout), exit };
  };

  beforeAll(async () => {
    lab = await openWorkspaceLab("workspaces");
    ({ place } = lab);
    project = join(place, "project");
    home = join(place, "home");
    for (const folder of ["project/src", "home/.ssh", "home/.config/gh", "home/projects/deep", "outside"]) {
      await mkdir(join(place, folder), { recursive: true });
    }
    await writeFile(join(place, "home/.ssh/id"), "SECRET");
    await writeFile(join(project, "file"), "content\n");
    await writeFile(join(place, "outside/canary"), "canary\n");
    vi.stubEnv("HOME", home);
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await lab.close();
  });

  it("refuses what is sensitive, is part of it or holds it, under every name", async () => {
    await symlink(join(home, ".ssh"), join(place, "alias"));
    await symlink(home, join(place, "home-alias"));
    await symlink("/", join(place, "root-alias"));
    await mkdir(join(place, "installation/deep"), { recursive: true });
    const refused = [
      ...["/", "/etc", "/etc/ssl", "/home", "/usr", "/var", "/tmp", "/proc/self", "/dev/shm", "/run"],
      ...[home, join(home, ".ssh"), join(home, ".config/gh"), join(place, "alias"), place],
      ...[join(place, "home-alias"), join(place, "home-alias/.ssh"), join(place, "root-alias")],
      ...[join(place, "root-alias/etc"), join(place, "engine"), join(place, "installation/deep"), homedir()],
    ];
    for (const source of refused) {
      const outcome = await create(source, "read-only").then(destroy, (error) => error.code);
      expect([source, outcome]).toEqual([source, "policy_denied"]);
    }
    for (const source of [project, join(home, "projects"), join(place, "home-alias/projects/deep")]) {
      await destroy(await create(source, "read-only"));
    }
  });

  it("gives what is sensitive only to who says so in so many words", async () => {
    const box = await create(join(home, ".ssh"), "read-only", true);
    expect((await sh(box, "cat id")).text).toBe("SECRET");
    await destroy(box);
  });

  it("FS-5 shows the folder that was judged, or none, however fast its name changes", async () => {
    const way = join(place, "way");
    const swapper = new Worker(
      `const { symlinkSync, renameSync } = require("node:fs");
       const { workerData: [way, ...targets] } = require("node:worker_threads");
       for (let i = 0; ; i++) { symlinkSync(targets[i % 2], way + ".new"); renameSync(way + ".new", way); }`,
      { eval: true, workerData: [way, project, join(home, ".ssh")] },
    );
    const seen = new Set<string>();
    try {
      await expect.poll(() => readlink(way).catch(() => "")).not.toBe("");
      for (let round = 0; round < 150 || (seen.size < 2 && round < 3_000); round++) {
        const outcome = await create(way, "read-only").then(
          async (box) => {
            const { text } = await sh(box, "ls");
            await destroy(box);
            return text;
          },
          (error) => error.code,
        );
        seen.add(outcome);
      }
    } finally {
      await swapper.terminate();
      await rm(`${way}.new`, { force: true });
    }
    // Both were met, or nothing was raced.
    expect([...seen].sort()).toEqual(["file\nsrc\n", "policy_denied"]);
  });

  it("FS-7 leaves the host's tree as it was, whatever is done to the copy and however it ends", async () => {
    const hashes = () => Promise.all([treeHash(project), treeHash(join(place, "outside"))]);
    const before = await hashes();
    const box = await create(project);
    const outside = join(place, "outside");
    await sh(
      box,
      `rm -rf src file; ln -s ${outside} src; ln -s ${outside}/canary file; mkdir d; ln -s / d/root;
       echo x > src/canary; echo x > file; mkdir -p deep/.sandboxer-apply-1; chmod 000 d; sleep 100 & exit 0`,
    );
    expect((await sh(box, "rm -rf /workspace/* /workspace/.*", "root")).exit).toBeDefined();
    await destroy(box);
    await expect.poll(() => readdir(join(place, "engine/trash"))).toEqual([]);
    expect(await hashes()).toEqual(before);
    // The control: such a change would have been seen.
    await writeFile(join(place, "outside/more"), "");
    expect(await hashes()).not.toEqual(before);
    await rm(join(place, "outside/more"));
  });

  it("FS-7 deletes nothing behind a mount or a link that somebody left in its own folder", async ({
    skip,
  }) => {
    if (process.getuid?.() !== 0) skip("only root mounts");
    const outside = join(place, "outside");
    const before = await treeHash(outside);
    const box = await create(project);
    const own = join(place, "engine/boxes", box.ref);
    for (const name of ["mounted", "deep/mounted"]) {
      await mkdir(join(own, name), { recursive: true });
      await run("mount", ["--bind", outside, join(own, name)]);
    }
    await symlink(outside, join(own, "link"));
    await using(async () => {
      await destroy(box);
      const again = await create(project);
      expect((await sh(again, "cat file")).text, "and others go on").toBe("content\n");
      await destroy(again);
      await expect.poll(mountsBelow).toHaveLength(2);
      expect(await treeHash(outside)).toBe(before);
    });
    expect(await treeHash(outside)).toBe(before);
  });
  /** Wherever its folder has gone meanwhile. */
  const mountsBelow = async () =>
    (await readFile("/proc/self/mountinfo", "utf8"))
      .split("\n")
      .flatMap((line) => line.split(" ")[4] ?? [])
      .filter((point) => point.startsWith(join(place, "engine")) && point.endsWith("mounted"));
  const using = async (work: () => Promise<void>) => {
    try {
      await work();
    } finally {
      for (const point of await mountsBelow()) await run("umount", [point]);
    }
  };

  it("RE-11 applies nothing where there is no room for all of it", async ({ skip }) => {
    if (process.getuid?.() !== 0) skip("only root mounts");
    const small = join(place, "small");
    await mkdir(small);
    await run("mount", ["-t", "tmpfs", "-o", "size=2m,mode=777", "small", small]);
    try {
      await writeFile(join(small, "file"), "content\n");
      await writeFile(join(small, "gone"), "gone\n");
      await sleep(A_TICK_MS);
      const before = await treeHash(small);
      const box = await create(small);
      await sh(box, "echo more >> file; rm gone; head -c 4000000 /dev/urandom > big; echo z > z");
      await expect(box.workspace?.apply()).rejects.toMatchObject({ code: "storage_full" });
      expect(await treeHash(small)).toBe(before);
      expect(await box.workspace?.apply({ paths: ["file", "gone", "z"] }), "what fits").toMatchObject({
        applied: 3,
      });
      await destroy(box);
    } finally {
      await run("umount", ["-l", small]);
    }
  });

  it("tells its own changes whatever the host does to the folder meanwhile, or says why not", async () => {
    const busy = join(place, "busy");
    await mkdir(busy);
    const names = Array.from({ length: 40 }, (_, at) => `f${at}`);
    for (const name of names) await writeFile(join(busy, name), `${name}\n`);
    await sleep(A_TICK_MS);
    const box = await create(busy);
    await sh(box, "for f in f*; do echo inside >> $f; done; echo own > own");
    let isOver = false;
    const host = (async () => {
      for (let round = 0; !isOver; round += 1) {
        const path = join(busy, names[round % 20] ?? "");
        await rm(path, { recursive: true, force: true });
        if (round % 3 === 0) await mkdir(path);
        else await writeFile(path, "x".repeat(round % 5_000));
      }
    })();
    const look = async () => {
      const seen: string[] = [];
      for await (const { path } of (await box.workspace?.changes({ detail: "patch" })) ?? []) seen.push(path);
      return seen;
    };
    const outcomes = new Set<string>();
    for (let round = 0; round < 30 || (!outcomes.has("told") && round < 1_000); round += 1) {
      const seen = await look().catch((error) => {
        expect(SandboxerError.is(error), `${error}`).toBe(true);
        return undefined;
      });
      // What the host leaves alone is told as ever.
      if (seen) expect(seen).toEqual(expect.arrayContaining([...names.slice(20), "own"]));
      outcomes.add(seen ? "told" : "refused");
    }
    isOver = true;
    await host;
    expect([...outcomes]).toContain("told");
    const before = await treeHash(busy);
    expect((await look()).sort()).toEqual([...names, "own"].sort());
    await expect(box.workspace?.apply()).rejects.toMatchObject({ code: "conflict" });
    expect(await treeHash(busy), "looking and being refused change nothing").toBe(before);
    await destroy(box);
  });

  it("FS-1 never writes through a link that was put on the way meanwhile", async () => {
    await sleep(A_TICK_MS);
    const box = await create(project);
    await sh(box, "echo planted > src/canary");
    await rm(join(project, "src"), { recursive: true });
    await symlink(join(place, "outside"), join(project, "src"));
    await expect(box.workspace?.apply()).rejects.toMatchObject({ code: "conflict" });
    // Told to overwrite, it replaces the link itself.
    await box.workspace?.apply({ force: true });
    expect(await readFile(join(project, "src/canary"), "utf8")).toBe("planted\n");
    expect(await readFile(join(place, "outside/canary"), "utf8")).toBe("canary\n");
    await destroy(box);
    await rm(join(project, "src/canary"));
  });

  it("FS-2 brings no device, pipe, socket or set-user-id bit to the host", async () => {
    await sleep(A_TICK_MS);
    const box = await create(project);
    await sh(
      box,
      "mkfifo pipe; cp /bin/true tool; chmod 6755 tool; python3 -c 'import socket as s; s.socket(1).bind(\"sock\")'",
    );
    const applied = await box.workspace?.apply();
    expect(applied).toMatchObject({ applied: 1, paths: ["tool"] });
    const mode = Number.parseInt((await sh(box, "stat -c %a tool")).text, 8);
    expect(mode).toBe(0o6755);
    const names = await readdir(project, { withFileTypes: true });
    expect(names.filter((entry) => !entry.isFile() && !entry.isDirectory())).toEqual([]);
    const { stat } = await import("node:fs/promises");
    expect((await stat(join(project, "tool"))).mode & 0o7777).toBe(0o755);
    await destroy(box);
    await rm(join(project, "tool"));
  });

  it("FS-8 runs nothing of the project on the host", async () => {
    await sleep(A_TICK_MS);
    const marker = join(place, "ran");
    const box = await create(project);
    const fake = `printf '#!/bin/sh\\ntouch ${marker}\\n'`;
    await sh(
      box,
      `for name in git tar node boxd diff; do ${fake} > $name; chmod +x $name; done
       mkdir -p .git/hooks; ${fake} > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout
       printf '[core]\\nfsmonitor = ${marker}' > .git/config`,
    );
    const directory = process.cwd();
    process.chdir(project);
    vi.stubEnv("PATH", `.:${process.env.PATH}`);
    try {
      for await (const _ of (await box.workspace?.changes({ detail: "patch" })) ?? []);
      const applied = await box.workspace?.apply();
      const held = applied?.heldBack.map(({ path }) => path);
      expect(held).toEqual([".git/config", ".git/hooks", ".git/hooks/post-checkout"]);
      await box.workspace?.rollback();
    } finally {
      process.chdir(directory);
    }
    await expect(access(marker)).rejects.toThrow("ENOENT");
    await destroy(box);
  });

  it("tells and applies after hold was killed, since the layer is the sandbox's own", async () => {
    const box = await create(project);
    await sh(box, "echo more >> file");
    const { readFileSync } = await import("node:fs");
    const [pid] = (await readdir("/proc")).filter((name) => {
      if (!/^\d+$/.test(name)) return false;
      try {
        const line = readFileSync(`/proc/${name}/cmdline`, "utf8");
        return line.includes("hold") && line.includes(join(place, "engine"));
      } catch {
        return false;
      }
    });
    process.kill(Number(pid), "SIGKILL");
    await expect.poll(async () => (await lab.list()).map(({ ref }) => ref)).toContain(box.ref);
    const again = await lab.attach(box);
    const found = [];
    for await (const { path } of (await again.workspace?.changes()) ?? []) found.push(path);
    expect(found).toEqual(["file"]);
    await sleep(A_TICK_MS);
    expect((await again.workspace?.apply())?.applied).toBe(1);
    await destroy(box);
  });
});
