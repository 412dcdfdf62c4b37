import { mkdir, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { throughPinned } from "./through-pinned.ts";

it.runIf(process.platform === "linux")(
  "FS-5 reads of the folder that was judged, or not at all",
  async () => {
    const place = await mkdtemp(join(tmpdir(), "sandboxer-pinned-"));
    onTestFinished(() => rm(place, { recursive: true, force: true }));
    const [source, secret, aside] = ["repository", "secret", "aside"].map((name) => join(place, name)) as [
      string,
      string,
      string,
    ];
    for (const folder of [source, secret]) await mkdir(folder);
    await writeFile(join(source, "config"), "own");
    await writeFile(join(secret, "config"), "CANARY");
    const { dev, ino } = await stat(source, { bigint: true });
    const pinned = { source, device: `${dev}`, inode: `${ino}` };
    const swapped = await throughPinned(pinned, async (folder) => {
      await rename(source, aside);
      await symlink(secret, source);
      expect(await readFile(join(source, "config"), "utf8"), "control: its name leads away").toBe("CANARY");
      return readFile(join(folder, "config"), "utf8");
    });
    expect(swapped).toBe("own");
    const read = () => throughPinned(pinned, (folder) => readFile(join(folder, "config"), "utf8"));
    await expect(read()).rejects.toMatchObject({ code: "invalid_state" });
    await rm(source);
    await rename(secret, source);
    await expect(read()).rejects.toMatchObject({ code: "invalid_state" });
  },
);
