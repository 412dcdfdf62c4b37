import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf } from "../e2e/cli-process.ts";

const { describe } = await requires("linux-userns", "boxd", "root");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

/** The people of a machine are in a file that only this process and those it starts see. */
describe("a root gateway on a machine of several people", () => {
  let place: string;

  const create = async (...args: string[]) => {
    const cli = cliOf(join(place, "installation"));
    const command = cli.commandLine(["run", "--json", ...args, "--", "true"]);
    const script = `mount --bind '${place}/passwd' /etc/passwd && exec ${command}`;
    const ran = promisify(execFile)("unshare", ["-m", "sh", "-c", script], { env: cli.environment });
    return ran.then(
      () => "made",
      ({ stderr }) => JSON.parse(stderr).error.code,
    );
  };

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "sandboxer-people-"));
    for (const folder of ["alice/.ssh", "alice/project", "service/.ssh"])
      await mkdir(join(place, "homes", folder), { recursive: true });
    const people = [
      `alice:x:1001:1001::${place}/homes/alice/:/bin/sh`,
      `service:x:900:900::${place}/homes/service:/bin/sh`,
      "nobody:x:65534:65534::/nonexistent:/bin/false",
      "odd:x:2000",
      "none:x:2001:2001:::/bin/sh",
    ];
    await writeFile(join(place, "passwd"), `${await readFile("/etc/passwd", "utf8")}${people.join("\n")}\n`);
  });
  afterAll(() => removeEngine(join(place, "installation/engine"), place));

  it("FS-5 gives away nobody's home, nor what makes one that person", async () => {
    const ways = ["read-only", "copy-on-write", "mirror"];
    for (const folder of ["homes/alice", "homes/alice/.ssh", "homes"]) {
      for (const way of ways) {
        const outcome = await create("-w", join(place, folder), "--access", way);
        expect([folder, way, outcome]).toEqual([folder, way, "policy_denied"]);
      }
    }
  });

  it("gives a project that lies in one, and what is no person's", async () => {
    for (const folder of ["homes/alice/project", "homes/service"])
      expect([folder, await create("-w", join(place, folder))]).toEqual([folder, "made"]);
    expect(await create("-w", join(place, "homes/alice/.ssh"), "--allow-sensitive")).toBe("made");
  });
});
