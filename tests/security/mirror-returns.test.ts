import { execFile } from "node:child_process";
import { once } from "node:events";
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findBoxd } from "@sandboxer/extensions/boxd";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { archiveOf, longOf, type Member, paxOf } from "./archive.ts";
import { treeHash } from "./tree-hash.ts";

const { describe } = await requires("boxd");

/** What a sandbox sends need not be what an honest one would: it is given to boxd as it is. */
describe("what comes back to a mirrored folder", () => {
  let place: string;
  let project: string;
  let outside: string;

  const facts = async (path: string) => {
    const { size, mtimeMs } = await lstat(join(project, path));
    return { type: "file", mode: 0, size, mtimeMs: Math.floor(mtimeMs) };
  };
  const boxd = async (args: readonly string[], input: Uint8Array) => {
    const child = execFile(findBoxd(), args, { encoding: "utf8" });
    let said = "";
    child.stdout?.on("data", (part: string) => {
      said += part;
    });
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
    await once(child, "close");
    return said === "" ? undefined : JSON.parse(said);
  };
  const pinned = async () => {
    const { dev, ino, uid, gid } = await lstat(project, { bigint: true });
    const ids = { uid: Number(uid), gid: Number(gid) };
    return { source: project, device: String(dev), inode: String(ino), ...ids };
  };
  const land = async (archive: Uint8Array, wanted: object, ...options: string[]) => {
    const header = Buffer.from(
      JSON.stringify({ ...(await pinned()), bytes: 1e6, take: [], gone: [], ...wanted }),
    );
    const length = Buffer.alloc(4);
    length.writeUInt32BE(header.length);
    return boxd(["apply", "--mirror", place, ...options], Buffer.concat([length, header, archive]));
  };
  const recover = () => boxd(["apply", "--recover", place], Buffer.alloc(0));
  const prepare = async () => {
    for (const folder of [project, outside]) await rm(folder, { recursive: true, force: true });
    await mkdir(join(project, "d"), { recursive: true });
    await mkdir(outside);
    await writeFile(join(outside, "canary"), "canary\n");
    await writeFile(join(project, "notes"), "one\n");
    await writeFile(join(project, "d/old"), "old\n");
  };

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "sandboxer-returns-"));
    project = join(place, "project");
    outside = join(place, "outside");
  });
  beforeEach(prepare);
  afterAll(() => rm(place, { recursive: true, force: true }));

  it("FS-1 control: what was asked for lands, and what was not is left", async () => {
    const archive = archiveOf([
      { name: "./", type: "5", mode: 0o755 },
      { name: "notes", content: "two\n" },
      { name: "new/", type: "5", mode: 0o750 },
      { name: "new/f", content: "f" },
      { name: "unasked", content: "unasked" },
    ]);
    const take = [{ path: "notes", was: await facts("notes") }, { path: "new" }, { path: "new/f" }];
    const answer = await land(archive, { take, gone: [{ path: "d/old", was: await facts("d/old") }] });
    expect(answer).toMatchObject({ applied: 4, changed: [], kept: [], heldBack: [] });
    expect((await readdir(project, { recursive: true })).sort()).toEqual(["d", "new", "new/f", "notes"]);
    expect(await readFile(join(project, "notes"), "utf8")).toBe("two\n");
  });

  const long = "x".repeat(150);
  const hostile: [string, (Member | Buffer)[]][] = [
    ["..", [{ name: "../outside/canary", content: "bad" }]],
    [".. within", [{ name: "d/../../outside/canary", content: "bad" }]],
    ["an absolute path", [{ name: "/tmp/outside-planted", content: "bad" }]],
    ["a PAX path", [paxOf({ path: "../outside/canary" }), { name: "notes", content: "bad" }]],
    ["a GNU long name", [longOf("L", `../outside/${long}`), { name: "notes", content: "bad" }]],
    ["a cut archive", [{ name: "notes", content: "bad", size: 4_000 }]],
    ["no archive", [Buffer.from("no archive at all")]],
  ];
  it.each(hostile)("FS-1 %s: refused, and both folders are as they were", async (_, members) => {
    const before = [await treeHash(project), await treeHash(outside)];
    const answer = await land(archiveOf(members), { take: [{ path: "notes", was: await facts("notes") }] });
    expect(answer).toMatchObject({ failure: { code: "invalid_request" } });
    expect([await treeHash(project), await treeHash(outside)]).toEqual(before);
    expect(await readdir(join(place, "applies"))).toEqual([]);
  });

  it("FS-1 a link, then through it: nothing is written through either", async () => {
    const archive = archiveOf([
      { name: "l", type: "2", target: "d" },
      { name: "l/old", content: "bad" },
    ]);
    const before = await treeHash(project);
    const answer = await land(archive, { take: [{ path: "l" }, { path: "l/old" }] });
    expect(answer.applied ?? 0).toBe(0);
    expect(await treeHash(project)).toBe(before);
  });

  it("FS-1 a link of the host's on the way: nothing is written through it", async () => {
    await symlink(outside, join(project, "out"));
    const answer = await land(archiveOf([{ name: "out/canary", content: "bad" }]), {
      take: [{ path: "out/canary" }],
    });
    expect(answer).toMatchObject({ applied: 0, changed: [{ path: "out/canary" }] });
    expect(await readFile(join(outside, "canary"), "utf8")).toBe("canary\n");
  });

  it("FS-2 devices, pipes, hard links and set-user-id are made by no archive", async () => {
    const archive = archiveOf([
      { name: "null", type: "3" },
      { name: "disk", type: "4" },
      { name: "pipe", type: "6" },
      { name: "hard", type: "1", target: "notes" },
      { name: "tool", content: "x", mode: 0o6755 },
    ]);
    const take = ["null", "disk", "pipe", "hard", "tool"].map((path) => ({ path }));
    expect(await land(archive, { take })).toMatchObject({ applied: 1, skipped: 4 });
    expect((await readdir(project)).sort()).toEqual(["d", "notes", "tool"]);
    expect((await lstat(join(project, "tool"))).mode & 0o7777).toBe(0o755);
  });

  it("RL-10 more bytes than were allowed: nothing of it", async () => {
    const before = await treeHash(project);
    const archive = archiveOf([
      { name: "a", content: "x".repeat(600) },
      { name: "b", content: "x".repeat(600) },
    ]);
    const take = [{ path: "a" }, { path: "b" }];
    expect(await land(archive, { take, bytes: 1_000 })).toMatchObject({ failure: { code: "storage_full" } });
    expect(await treeHash(project)).toBe(before);
    expect(await land(archive, { take, bytes: 1_200 })).toMatchObject({ applied: 2 });
  });

  it("does nothing at all where the host has changed something since it was looked at", async () => {
    const was = await facts("notes");
    await writeFile(join(project, "notes"), "the host was here\n");
    await writeFile(join(project, "d/added"), "added\n");
    const before = await treeHash(project);
    const archive = archiveOf([
      { name: "notes", content: "two\n" },
      { name: "other", content: "other\n" },
    ]);
    const take = [{ path: "notes", was }, { path: "other" }];
    expect(await land(archive, { take })).toMatchObject({ applied: 0, changed: [{ path: "notes" }] });
    // A folder goes only with what was said to go.
    const gone = [
      { path: "d", was: { type: "directory", size: 0, mtimeMs: 0 } },
      { path: "d/old", was: await facts("d/old") },
    ];
    expect(await land(archiveOf([]), { gone })).toMatchObject({ applied: 0, changed: [{ path: "d" }] });
    expect(await treeHash(project)).toBe(before);
  });

  it("RE-1 leaves the old or the new wherever it dies, and no trace of itself", async () => {
    const seen = new Set<string>();
    const old = await treeHash(project);
    let deaths = 0;
    for (let after = 1; ; after++) {
      await prepare();
      const archive = archiveOf([
        { name: "notes", content: "two\n" },
        { name: "new/", type: "5", mode: 0o755 },
        { name: "new/f", content: "f" },
        { name: "d", type: "2", target: "notes" },
      ]);
      const take = [
        { path: "notes", was: await facts("notes") },
        { path: "new" },
        { path: "new/f" },
        { path: "d", was: { type: "directory", size: 0, mtimeMs: 0 } },
      ];
      const gone = [{ path: "d/old", was: await facts("d/old") }];
      const answer = await land(archive, { take, gone }, "--die-after", String(after));
      await recover();
      seen.add(await treeHash(project));
      expect(await readdir(join(place, "applies")), `after ${after}`).toEqual([]);
      if (answer) break;
      deaths += 1;
    }
    expect(deaths).toBeGreaterThan(10);
    expect(seen.size).toBe(2);
    expect(seen.has(old)).toBe(true);
    expect(await readFile(join(project, "d"), "utf8")).toBe("two\n");
  });
});
