import { mkdir, mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { bundleFor, inOneFile } from "./bundle.ts";
import { makeDisk } from "./disk.ts";
import { inGuest } from "./in-guest.ts";

/** Emulated, and on a busy machine, each life takes a minute or more. */
const ENDS_WITHIN_MS = 600_000;

const { describe, given } = await requires("qemu", "boxd");

describe("a machine that is switched off and started again", () => {
  it(
    "RE-4 has a persistent sandbox as it was, stopped, and tells of the others that they are lost",
    async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), "sandboxer-reboot-"));
      const program = await bundleFor(new URL("one-life.ts", import.meta.url), folder.path);
      const keeps = join(folder.path, "keep");
      await mkdir(join(folder.path, "empty"));
      await makeDisk(join(folder.path, "empty"), keeps, 512, { survives: true });
      const live = (life: string) =>
        inGuest(given.qemu, {
          files: {
            boxd: given.boxd.path,
            "program/one-life.mjs": program,
            "package.json": fileURLToPath(new URL("../../apps/gateway/package.json", import.meta.url)),
          },
          script: `
            echo '+cpu +memory +pids' > /sys/fs/cgroup/cgroup.subtree_control
            export SANDBOXER_BOXD=/given/boxd
            ${inOneFile("program/one-life.mjs")} ${life} /keep/home`,
          keeps,
          memoryMiB: 768,
          endsWithinMs: ENDS_WITHIN_MS,
        });
      const first = await live("first");
      expect(first.status, `it ended in the middle\n${first.console}`).toBeUndefined();
      expect(first.console).not.toContain("ended by force");
      const second = await live("second");
      expect(second.status, second.console).toBe(0);
      const { states, found, after, copied } = JSON.parse(second.report);
      expect(states).toContainEqual({ name: "persistent", state: "paused", pauseDepth: "disk" });
      expect(states.map(({ state }: { state: string }) => state)).not.toContain("running");
      expect(found).toBe("persistent\n640 user\n0\n");
      expect(after).toBe("persistent\nmore\n");
      expect(copied, "a fork that was answered").toBe("persistent\n640 user\n");
    },
    2 * ENDS_WITHIN_MS + 60_000,
  );
});
