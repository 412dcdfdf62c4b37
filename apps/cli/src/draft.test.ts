import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { draftFor } from "./draft.ts";

it("removes what was left by who was killed, and nobody else's", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandboxer-draft-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const own = basename(await draftFor(join(folder, "out.tar")));
  const of = (pid: number | undefined) => own.replace(/\d+$/, String(pid));
  const dead = of(spawnSync("true").pid);
  const elsewhere = (pid: number) => `out.tar.sandboxer-00000000-${pid}`;
  const kept = [
    of(process.ppid),
    elsewhere(7),
    "out.tar",
    "out.tar.7",
    "out.tar.sandboxer-notes",
    dead.replace("out", "other"),
  ];
  const gone = [own, dead, `${dead}-wal`, elsewhere(8)];
  for (const name of [...kept, ...gone]) writeFileSync(join(folder, name), "");
  const longAgo = new Date(Date.now() - 48 * 3_600_000);
  utimesSync(join(folder, elsewhere(8)), longAgo, longAgo);
  expect(await draftFor(join(folder, "out.tar"))).toBe(join(folder, own));
  expect(readdirSync(folder).sort()).toEqual(kept.sort());
});
