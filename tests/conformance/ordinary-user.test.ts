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
const lending = await requires("linux-userns", "boxd", "subordinate-ids");

const LEND = join(root, "tests/security/lend-ids.sh");
const LENT_FROM = 700_000;

interface Ids {
  readonly uid: number;
  readonly gid: number;
}

interface Outcome {
  readonly name: string;
  readonly failure?: string;
  readonly code?: string;
}

/** What takes a control group that an ordinary user is not given. */
const NO_FREEZER = "nobody has given this user a control group";
const REFUSED: Readonly<Record<string, string>> = Object.fromEntries(
  CASES.pause?.map(({ name }) => [name, NO_FREEZER]) ?? [],
);

/** The suite again, in a copy the other user can read, wherever this checkout lies. */
function suite(notInForce: readonly string[], asUser: (place: string) => readonly string[], ids: () => Ids) {
  let place: string;
  const outcomes = new Map<string, Outcome>();
  let table: { bestEffort: string[]; refusal: { code?: string; message?: string } };

  beforeAll(async () => {
    const { uid, gid } = ids();
    place = await mkdtemp(join(tmpdir(), "sandboxer-ordinary-"));
    await chown(place, uid, gid);
    for (const part of [
      "packages/contract",
      "packages/extensions",
      "tests/conformance",
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
    const variables = [`TMPDIR=${place}`, `HOME=${place}`, `SANDBOXER_BOXD=${join(place, "boxd")}`];
    const program = [join(place, "node"), join(place, "tests/conformance/as-ordinary-user.ts")];
    const { stdout } = await promisify(execFile)("env", [...asUser(place), "env", ...variables, ...program], {
      cwd: place,
      timeout: 280_000,
    });
    for (const line of stdout.trim().split("\n")) {
      const said = JSON.parse(line);
      if (said.name) outcomes.set(said.name, said);
      else table = said;
    }
  }, 300_000);

  afterAll(async () => {
    if (place) await rm(place, { recursive: true, force: true });
  });

  for (const { name } of Object.values(CASES).flat()) {
    const refused = REFUSED[name];
    it(refused ? `refuses (${refused}): ${name}` : name, () => {
      expect(outcomes.has(name), "the case ran").toBe(true);
      const { failure, code } = outcomes.get(name) ?? {};
      if (refused) expect(code).toBe("extension_unavailable");
      else expect(failure).toBeUndefined();
    });
  }

  it("says what is not in force, exactly", () => {
    expect(table.bestEffort.map((sentence) => sentence.split(":")[0]).sort()).toEqual(notInForce);
    for (const sentence of table.bestEffort) expect(sentence).toMatch(/: (not limited|only one), because ./);
  });

  it("refuses a sandbox whose limits are required, and names the layer", () => {
    expect(table.refusal.code).toBe("extension_unavailable");
    expect(table.refusal.message).toMatch(/limits are required, and cpus cannot be limited: .*control group/);
  });
}

const become = ({ uid, gid }: Ids): string[] =>
  process.getuid?.() === 0 ? ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"] : [];

describe("conformance: local, as an ordinary user with one id", () => {
  const ids = () => given["ordinary-user"];
  suite(["cpus", "disk", "memory", "pids", "users"], () => become(ids()), ids);
});

lending.describe("conformance: local, as an ordinary user with subordinate ids", () => {
  const ids = () => lending.given["subordinate-ids"];
  const lend = (place: string): string[] => {
    const { uid, gid } = ids();
    return ["unshare", "--mount", "sh", LEND, place, `${uid}`, `${gid}`, `${LENT_FROM}`, ...become(ids())];
  };
  suite(["cpus", "disk", "memory", "pids"], lend, ids);
});
