import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { removeFolder } from "./folders.ts";

it.runIf(process.platform === "linux")(
  "FS-7 removes nothing where it cannot be seen what is mounted",
  async () => {
    const dir = await mkdtemp(join(tmpdir(), "sandboxer-volumes-"));
    onTestFinished(() => rm(dir, { recursive: true, force: true }));
    await mkdir(join(dir, "one"));
    const refused = removeFolder(dir, "one", join(dir, "no-mountinfo"));
    await expect(refused).rejects.toMatchObject({ code: "conflict", hint: expect.stringContaining("/proc") });
    expect((await stat(join(dir, "one"))).isDirectory()).toBe(true);
    await removeFolder(dir, "one");
    await expect(stat(join(dir, "one")), "control: else it goes").rejects.toMatchObject({ code: "ENOENT" });
  },
);
