import { execFile } from "node:child_process";
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { draftFor } from "../../apps/cli/src/draft.ts";
import { landArchive } from "../../apps/cli/src/tar/land.ts";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { archiveOf, paxOf } from "../security/archive.ts";
import { cliOf, end, firstLine } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

describe("copying from the command line", () => {
  let home: string;
  let local: string;
  let cli: ReturnType<typeof cliOf>;
  const sh = async (script: string) => (await cli.run(["exec", "box", "--", "sh", "-c", script])).stdout;
  const cp = async (from: string, to: string) => {
    expect(await cli.run(["cp", from, to])).toEqual({ code: 0, stdout: "", stderr: "" });
  };

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-copy-"));
    local = join(home, "local");
    cli = cliOf(home);
    await mkdir(join(local, "tree/a/b"), { recursive: true });
    await writeFile(join(local, "tree/a/b/blob"), Buffer.alloc(300_000, 7));
    await writeFile(join(local, "tree/run"), "#!/bin/sh\necho ran\n");
    await chmod(join(local, "tree/run"), 0o755);
    await mkdir(join(local, "tree", "n".repeat(90), "m".repeat(90)), { recursive: true });
    await writeFile(join(local, "tree", "n".repeat(90), "m".repeat(90), "ü"), "long");
    await symlink("a/b/blob", join(local, "tree/link"));
    await cli.run(["create", "--name", "box"]);
  }, 300_000);
  afterAll(async () => {
    await cli.run(["rm", "--all"]);
    await removeEngine(join(home, "engine"), home);
  }, 300_000);

  it("takes a file in and out", async () => {
    await cp(join(local, "tree/run"), "box:bin/run");
    expect(await sh("bin/run")).toBe("ran\n");
    await cp("box:bin/run", join(local, "back"));
    expect(await readFile(join(local, "back"), "utf8")).toBe("#!/bin/sh\necho ran\n");
    expect((await lstat(join(local, "back"))).mode & 0o777).toBe(0o755);
  });

  it("takes what is piped, and pipes what it brings out", async () => {
    const text = "one\n".repeat(100_000);
    expect(await cli.run(["cp", "-", "box:piped/text"], text)).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(await cli.run(["cp", "box:piped/text", "-"])).toEqual({ code: 0, stdout: text, stderr: "" });
    const folder = await cli.run(["cp", "box:piped", "-"]);
    expect([folder.code, folder.stdout.slice(257, 262)], "a tar archive").toEqual([0, "ustar"]);
    expect(folder.stdout).toContain(text);
    const refused = await cli.run(["cp", "-", "box:piped"], text);
    expect([refused.code, refused.stderr]).toEqual([
      expect.any(Number),
      expect.stringContaining("is a folder"),
    ]);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("hint: Give the file's whole path");
    expect((await cli.run(["cp", "-", "-"])).stderr).toContain("one side is of a sandbox");
  });

  it("leaves nothing beside a file, also of who was killed over it", async () => {
    const folder = join(home, "drafts");
    await mkdir(folder);
    await sh("truncate -s 8G huge; echo small > small");
    const target = join(folder, "file");
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const told = cli.start(["cp", "box:huge", target]);
      await expect.poll(() => readdir(folder), { timeout: 60_000 }).toHaveLength(1);
      await end(told, signal);
      expect(told.signalCode, "as a shell expects it").toBe(signal);
      expect(await readdir(folder), signal).toEqual([]);
    }
    const killed = cli.start(["cp", "box:huge", target]);
    await expect.poll(() => readdir(folder), { timeout: 60_000 }).toHaveLength(1);
    await end(killed, "SIGKILL");
    expect(await readdir(folder), "control").toHaveLength(1);
    await cp("box:small", target);
    expect(await readdir(folder)).toEqual(["file"]);

    await sh("rm huge");
    await cli.run(["snapshot", "box", "--name", "shot"]);
    const dead = String(killed.pid);
    for (const [name, args] of [
      ["shot.tar", ["snapshots", "export", "shot"]],
      ["home.db", ["backup"]],
    ] as const) {
      const draft = await draftFor(join(folder, name));
      await writeFile(draft.replace(/\d+$/, dead), "half of one");
      expect((await cli.run([...args, join(folder, name)])).stderr).toBe("");
    }
    expect((await readdir(folder)).sort()).toEqual(["file", "home.db", "shot.tar"]);
  });

  it("says that a disk of this machine is full, and leaves nothing half on it", async () => {
    const gateway = cli.start(["up", "--port", "0", "--json"]);
    onTestFinished(() => void gateway.kill("SIGKILL"));
    await firstLine(gateway);
    await sh("head -c 4000000 /dev/zero > large");
    const disk = join(home, "small-disk");
    await mkdir(disk);
    // The gateway is outside: what is mounted here is seen by the command alone.
    const words = `mount -t tmpfs -o size=1m none ${disk} && { ${cli.commandLine(["cp", "box:large", `${disk}/large`])}; echo "code=$?"; ls ${disk} | wc -l; }`;
    const { stdout, stderr } = await promisify(execFile)("unshare", ["-rm", "sh", "-c", words], {
      env: cli.environment,
    });
    expect(stderr).toMatch(/^error: cannot use .*large: ENOSPC\nhint: Free some space/);
    expect(stdout).toBe("code=74\n0\n");
    expect(await end(gateway, "SIGTERM")).toBe(0);
  });

  it("takes a folder in and out, the same", async () => {
    await cp(join(local, "tree"), "box:copied");
    expect(await sh("./copied/run; readlink copied/link")).toBe("ran\na/b/blob\n");
    await cp("box:copied", join(local, "returned"));
    const { stdout } = await promisify(execFile)("diff", [
      "-r",
      join(local, "tree"),
      join(local, "returned"),
    ]);
    expect(stdout).toBe("");
    await cp(join(local, "tree"), "box:/tmp");
    expect(await sh("ls /tmp/tree/run")).toBe("/tmp/tree/run\n");
    await cp(join(local, "tree/run"), "box:");
    expect(await sh("./run"), "nothing behind the colon is the home").toBe("ran\n");
  });

  it("refuses what is not there, and two sides of a kind", async () => {
    const here = { code: 66, stderr: expect.stringContaining("it is one of this machine's") };
    expect(await cli.run(["cp", join(local, "nothing"), "box:x"])).toMatchObject(here);
    expect((await cli.run(["cp", "box:nothing", local])).code).toBe(66);
    expect((await cli.run(["cp", "box:a", "box:b"])).code).toBe(2);
    expect((await cli.run(["cp", local, join(local, "x")])).code).toBe(2);
  });

  const hostile: [string, Parameters<typeof archiveOf>[0]][] = [
    ["..", [{ name: "../planted", content: "bad" }]],
    ["an absolute path", [{ name: "/tmp/planted-by-cp", content: "bad" }]],
    ["a PAX path", [paxOf({ path: "../planted" }), { name: "harmless", content: "bad" }]],
    [
      "through a file",
      [
        { name: "f", content: "x" },
        { name: "f/planted", content: "bad" },
      ],
    ],
    ["a hard link", [{ name: "h", type: "1", target: "../canary" }]],
    ["a device", [{ name: "d", type: "3" }]],
  ];
  it.each(hostile)(
    "FS-1 lets no archive of a sandbox out of the folder it is copied to: %s",
    async (_, members) => {
      const place = await mkdtemp(join(home, "landing-"));
      const archive = (async function* () {
        yield archiveOf(members);
      })();
      await expect(landArchive(archive, join(place, "in"))).rejects.toMatchObject({
        code: "extension_failed",
      });
      await expect(lstat(join(place, "planted"))).rejects.toMatchObject({ code: "ENOENT" });
      await expect(lstat("/tmp/planted-by-cp")).rejects.toMatchObject({ code: "ENOENT" });
    },
  );

  it("FS-1 makes no link on this machine that leads away, and writes through none", async () => {
    const place = await mkdtemp(join(home, "landing-"));
    await writeFile(join(place, "canary"), "canary");
    const archive = (async function* () {
      yield archiveOf([
        { name: "out", type: "2", target: "../canary" },
        { name: "abs", type: "2", target: "/etc" },
        { name: "out", content: "mine" },
        { name: "ok", type: "2", target: "out" },
      ]);
    })();
    expect(await landArchive(archive, join(place, "in"))).toEqual({ leftOut: ["out", "abs"] });
    expect(await readFile(join(place, "canary"), "utf8")).toBe("canary");
    expect(await readFile(join(place, "in/ok"), "utf8")).toBe("mine");
  });
});
