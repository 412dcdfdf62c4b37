import { execFile } from "node:child_process";
import { chown, cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CASES } from "@sandboxer/contract/conformance/cases";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

const { describe, given } = await requires("linux-userns", "boxd", "ordinary-user");

/**
 * The suite again, with neither root nor a subordinate range: in a copy the other user can read,
 * wherever this checkout lies.
 */
describe("conformance: local, as an ordinary user", () => {
  let place: string;
  const failures = new Map<string, string | undefined>();

  beforeAll(async () => {
    const { uid, gid } = given["ordinary-user"];
    place = await mkdtemp(join(tmpdir(), "sandboxer-ordinary-"));
    await chown(place, uid, gid);
    for (const part of ["packages/contract", "packages/extensions", "tests/conformance"]) {
      await cp(join(root, part), join(place, part), { recursive: true });
    }
    await cp(given.boxd.path, join(place, "boxd"));
    await cp(process.execPath, join(place, "node"));
    await mkdir(join(place, "node_modules/@sandboxer"), { recursive: true });
    await cp(join(root, "node_modules/zod"), join(place, "node_modules/zod"), { recursive: true });
    for (const room of ["contract", "extensions"]) {
      await symlink(join(place, "packages", room), join(place, "node_modules/@sandboxer", room));
    }
    const { stdout } = await promisify(execFile)(
      join(place, "node"),
      [join(place, "tests/conformance/as-ordinary-user.ts")],
      {
        uid,
        gid,
        cwd: place,
        timeout: 120_000,
        env: { TMPDIR: place, HOME: place, PATH: process.env.PATH, SANDBOXER_BOXD: join(place, "boxd") },
      },
    );
    for (const line of stdout.trim().split("\n")) {
      const { name, failure } = JSON.parse(line) as { name: string; failure?: string };
      failures.set(name, failure);
    }
  }, 150_000);

  afterAll(async () => {
    if (place) await rm(place, { recursive: true, force: true });
  });

  for (const { name } of Object.values(CASES).flat()) {
    it(name, () => {
      expect(failures.has(name), "the case ran").toBe(true);
      expect(failures.get(name)).toBeUndefined();
    });
  }
});
