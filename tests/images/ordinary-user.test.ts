import { execFile } from "node:child_process";
import { chown, cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { archiveOf } from "../security/archive.ts";
import { busyboxLayer } from "./image-maker.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { describe, given } = await requires("linux-userns", "boxd", "ordinary-user");
const lending = await requires("linux-userns", "boxd", "subordinate-ids");

vi.setConfig({ testTimeout: 120_000 });

interface Ids {
  readonly uid: number;
  readonly gid: number;
}

const become = ({ uid, gid }: Ids): string[] =>
  process.getuid?.() === 0 ? ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"] : [];

/** In a copy the other user can read, wherever this checkout lies. */
async function outcomeAs({ uid, gid }: Ids, asUser: (place: string) => readonly string[]) {
  const place = await mkdtemp(join(tmpdir(), "sandboxer-ordinary-"));
  try {
    for (const part of [
      "packages/contract",
      "packages/extensions",
      "tests/conformance",
      "tests/images",
      "tests/capabilities",
    ]) {
      await cp(join(root, part), join(place, part), { recursive: true });
    }
    await cp(given.boxd.path, join(place, "boxd"));
    await cp(process.execPath, join(place, "node"));
    await mkdir(join(place, "node_modules/@sandboxer"), { recursive: true });
    await cp(join(root, "node_modules/zod"), join(place, "node_modules/zod"), { recursive: true });
    for (const room of ["contract", "extensions"]) {
      await symlink(join(place, "packages", room), join(place, "node_modules/@sandboxer", room));
    }
    const files = archiveOf([{ name: "of-seven", uid: 7, mode: 0o4644, content: "7\n" }]);
    // Two archives, one behind the other, less the end of the first.
    const base = await busyboxLayer();
    const end = base.length - trailing(base);
    await writeFile(join(place, "image.tar"), Buffer.concat([base.subarray(0, end), files]));
    await chown(place, uid, gid);
    const variables = [`TMPDIR=${place}`, `HOME=${place}`, `SANDBOXER_BOXD=${join(place, "boxd")}`];
    const program = [
      join(place, "node"),
      join(place, "tests/images/as-ordinary-user.ts"),
      join(place, "image.tar"),
    ];
    const { stdout } = await promisify(execFile)("env", [...asUser(place), "env", ...variables, ...program], {
      cwd: place,
      timeout: 60_000,
    });
    return JSON.parse(stdout);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** How many bytes of zeros an archive ends with, in whole blocks. */
function trailing(tar: Buffer): number {
  let count = 0;
  while (tar.subarray(tar.length - count - 512, tar.length - count).every((byte) => byte === 0)) count += 512;
  return count;
}

describe("images of an ordinary user with one id", () => {
  it("UM-5 belong to that user, and say so", async () => {
    const outcome = await outcomeAs(given["ordinary-user"], () => become(given["ordinary-user"]));
    expect(outcome).toEqual({
      owners: "collapsed",
      stripped: 1,
      asUser: ["user", "1000:1000", "1000:1000", "7", "mine"],
      asRoot: "no_such_user",
      left: [],
    });
  });
});

lending.describe("images of an ordinary user with subordinate ids", () => {
  it("UM-1 keep their owners, among the ids that are lent", async () => {
    const ids = lending.given["subordinate-ids"];
    const lend = join(root, "tests/security/lend-ids.sh");
    const outcome = await outcomeAs(ids, (place) => [
      ...["unshare", "--mount", "sh", lend, place, `${ids.uid}`, `${ids.gid}`, "700000"],
      ...become(ids),
    ]);
    expect(outcome).toEqual({
      owners: "kept",
      stripped: 1,
      asUser: ["user", "7:7", "0:0", "7", "mine"],
      asRoot: "0\n9",
      left: [],
    });
  });
});
