import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { startGateway } from "../faults/gateway-process.ts";
import { makeHome } from "../faults/home.ts";
import { treeHash } from "./tree-hash.ts";

const { describe } = await requires("linux-userns", "boxd", "root");

vi.setConfig({ testTimeout: 120_000 });

describe("a volume's end", () => {
  it("FS-7 deletes nothing behind a mount or a link that somebody left in its folder", async () => {
    const home = makeHome(onTestFinished);
    const outside = join(home, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "canary"), "canary\n");
    const before = await treeHash(outside);
    const first = await startGateway(home);
    const { id } = await first.client.volumes.create({ name: "data" });
    const volumes = [{ volume: "data", target: "/mnt/data" }];
    const sandbox = await first.client.sandboxes.create({ volumes, ttlMs: 60_000 });
    await sandbox.run(["sh", "-c", "echo own > /mnt/data/file"]);
    await sandbox.destroy();
    const folder = join(home, "volumes", id);
    symlinkSync(outside, join(folder, "link"));
    const mounted = join(folder, "deep/mounted");
    mkdirSync(mounted, { recursive: true });
    execFileSync("mount", ["--bind", outside, mounted]);
    try {
      await expect(first.client.volumes.delete("data")).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringContaining("mounted"),
      });
      expect(await treeHash(outside)).toBe(before);
      expect(await first.client.volumes.list()).toMatchObject([{ id }]);
    } finally {
      execFileSync("umount", [mounted]);
    }
    await first.client.volumes.delete("data");
    expect(await treeHash(outside), "nor behind a link").toBe(before);
    expect(await first.end("SIGTERM")).toBe(0);
  });
});
