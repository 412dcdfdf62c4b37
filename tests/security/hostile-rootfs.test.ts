import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { chmod, copyFile, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Box, SandboxerError, type SandboxSpec } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { busyboxLayer, layoutArchive, makeImage as makeOciImage } from "../images/image-maker.ts";
import type { Member } from "./archive.ts";
import { type Engine, openEngine, run, shell, withFolder } from "./engine.ts";

const { describe, given } = await requires("linux-userns", "boxd");

const PLACES =
  "proc sys dev dev/null dev/console dev/pts dev/shm dev/ptmx etc etc/passwd etc/group etc/hosts etc/resolv.conf home home/user tmp root".split(
    " ",
  );

/** Where a link in the image points; `canary` is a folder of the host. */
const TARGETS: Record<string, (canary: string) => string> = {
  "the host": (canary) => canary,
  "the host, from below": (canary) => `../../../../../../../../..${canary}`,
  "a file of the host": (canary) => `${canary}/file`,
  "a descriptor": () => "/proc/self/fd/3",
  "process 1's root": () => "/proc/1/root",
  itself: () => "loop",
};

const PASSWD = "root:x:0:0::/root:/bin/busybox\nuser:x:1000:1000::/home/user:/bin/busybox\n";

describe("NS-10 images that lead elsewhere", () => {
  let engine: Engine;

  beforeAll(async () => {
    engine = await openEngine({ boxdPath: given.boxd.path });
  });
  afterAll(() => engine.close());

  for (const place of PLACES) {
    it(`/${place} leads nowhere`, async () => {
      for (const [name, target] of Object.entries(TARGETS)) {
        await withFolder(async (folder) => {
          const canary = join(folder, "canary");
          await mkdir(canary);
          await writeFile(join(canary, "file"), PASSWD);
          await chmod(canary, 0o777);
          const image = await makeImage(join(folder, "image"));
          await rm(join(image, place), { recursive: true, force: true });
          await mkdir(dirname(join(image, place)), { recursive: true });
          await symlink(target(canary), join(image, place));
          const before = fingerprint(canary);
          await tryEverything(engine, image, place);
          expect(fingerprint(canary), name).toBe(before);
        });
      }
    });
  }

  it("the place of a workspace leads nowhere", async () => {
    for (const [name, target] of Object.entries(TARGETS)) {
      await withFolder(async (folder) => {
        const [canary, project] = [join(folder, "canary"), join(folder, "project")];
        for (const place of [canary, project]) await mkdir(place);
        await chmod(folder, 0o755);
        await chmod(canary, 0o777);
        await writeFile(join(canary, "file"), PASSWD);
        const image = await makeImage(join(folder, "image"));
        await symlink(target(canary), join(image, "site"));
        const before = fingerprint(canary);
        const workspace = {
          source: project,
          target: "/site/deep",
          mode: "read-write",
          allowSensitive: false,
        };
        await tryEverything(engine, image, "site", { workspace } as Partial<SandboxSpec>);
        expect(fingerprint(canary), name).toBe(before);
      });
    }
  });

  it("an image's own working folder leads nowhere", async () => {
    const base = await busyboxLayer();
    for (const [name, target] of Object.entries(TARGETS)) {
      await withFolder(async (folder) => {
        const canary = join(folder, "canary");
        await mkdir(canary);
        await chmod(folder, 0o755);
        await chmod(canary, 0o777);
        await writeFile(join(canary, "file"), PASSWD);
        const link: Member = { name: "work", type: "2", target: target(canary) };
        const made = makeOciImage({ layers: [base, [link]], config: { WorkingDir: "/work" } });
        const ref = `hostile/${Object.keys(TARGETS).indexOf(name)}:1`;
        await engine.extension.images?.import(parts(layoutArchive(made)), { name: ref });
        const before = fingerprint(canary);
        const box = await engine.create({ kind: "oci", ref }).catch((error) => {
          expect(SandboxerError.is(error), `${name}: ${error}`).toBe(true);
        });
        if (box) {
          const { text } = await shell(box, "pwd -P; echo planted > planted; cat file", { user: "root" });
          expect(text, name).not.toContain(canary);
          expect(text, name).not.toContain("busybox");
          await engine.destroy(box);
        }
        expect(fingerprint(canary), name).toBe(before);
      });
    }
  });

  it("control: an image without such a link works, and its own files can be written", async () => {
    await withFolder(async (folder) => {
      const box = await engine.create({ kind: "rootfs", path: await makeImage(join(folder, "image")) });
      expect((await run(box, ["/bin/boxd", "--version"])).text).toMatch(/^boxd /);
      await box.files.write("/tmp/mine", [Buffer.from("mine")]);
      expect((await box.files.stat("/tmp/mine")).size).toBe(4);
      await engine.destroy(box);
    });
  });
});

async function* parts(bytes: Uint8Array) {
  yield bytes;
}

/** A root with a single program, which needs no library. */
async function makeImage(image: string): Promise<string> {
  for (const folder of "bin proc sys dev etc home/user tmp root".split(" ")) {
    await mkdir(join(image, folder), { recursive: true });
  }
  await copyFile(given.boxd.path, join(image, "bin/boxd"));
  await writeFile(join(image, "etc/passwd"), PASSWD);
  await writeFile(join(image, "etc/group"), "root:x:0:\nuser:x:1000:\n");
  return image;
}

/** Refused in so many words, or made: then every way to write through the link is tried. */
async function tryEverything(
  engine: Engine,
  image: string,
  place: string,
  more: Partial<SandboxSpec> = {},
): Promise<void> {
  let box: Box;
  try {
    box = await engine.create({ kind: "rootfs", path: image }, {}, more);
  } catch (error) {
    expect(SandboxerError.is(error), `${error}`).toBe(true);
    expect((error as SandboxerError).code).toMatch(/^(invalid_request|path_not_found|not_a_directory)$/);
    return;
  }
  const users = process.getuid?.() === 0 ? ["user", "root"] : ["user"];
  for (const user of users) {
    const quiet = (work: Promise<unknown>): Promise<unknown> => work.catch(() => {});
    await quiet(box.files.write(`/${place}`, [Buffer.from("planted")], { user }));
    await quiet(box.files.write(`/${place}/planted`, [Buffer.from("planted")], { user, parents: true }));
    await quiet(box.files.mkdir(`/${place}/planted`, { user, parents: true }));
    await quiet(box.files.move("/etc/group", `/${place}/moved`, { user }));
    await quiet(run(box, ["/bin/boxd", "--version"], { user, cwd: `/${place}` }));
    await quiet(
      run(box, ["/bin/boxd", "serve", "--id", "x", "--socket", `/${place}/sock`], { user, timeoutMs: 200 }),
    );
    await quiet(box.files.remove(`/${place}/file`, { user, recursive: true }));
  }
  await engine.destroy(box);
}

/** Names, kinds, modes and contents of all that is in a folder. */
function fingerprint(folder: string): string {
  const hash = createHash("sha256");
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    const found = lstatSync(join(folder, name));
    hash.update(`${name} ${found.mode} ${found.uid}\n`);
    if (found.isFile()) hash.update(readFileSync(join(folder, name)));
  }
  return hash.digest("hex");
}
