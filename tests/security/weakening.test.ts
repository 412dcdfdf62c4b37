import { expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Engine, openEngine, run } from "./engine.ts";

const { describe, given } = await requires("linux-userns", "boxd", "probe", "root", "x86-64");

/** The system calls that each layer is made of, on x86-64: a host that lacks one lacks the layer. */
const LAYERS: Record<string, number> = {
  "namespaces (clone3)": 435,
  "mounts (open_tree)": 428,
  "mount attributes (mount_setattr)": 442,
  "mounts (move_mount)": 429,
  "file systems (fsopen)": 430,
  "file systems (fsmount)": 432,
  "overlay (mount)": 165,
  "the new root (pivot_root)": 155,
  "leaving the old one (umount2)": 166,
  "the system-call filter (seccomp)": 317,
  "capabilities (capset)": 126,
  "capabilities and new privileges (prctl)": 157,
  "closing descriptors (close_range)": 436,
  "groups (setgroups)": 116,
  "user ids (setresuid)": 117,
  "the cgroup namespace (unshare)": 272,
  "host name (sethostname)": 170,
  "paths (openat2)": 437,
};

describe("PO-4 a host that cannot give a layer", () => {
  const withEngine = async (missing: number[], work: (engine: Engine) => Promise<void>): Promise<void> => {
    const through = missing.length > 0 ? [given.probe.path, "cage", missing.join(","), "--"] : [];
    const engine = await openEngine({ boxdPath: given.boxd.path, through });
    try {
      await work(engine);
    } finally {
      await engine.close().catch(() => {});
    }
  };

  for (const [layer, number] of Object.entries(LAYERS)) {
    it(`is refused: ${layer}`, async () => {
      await withEngine([number], async (engine) => {
        await expect(engine.create()).rejects.toMatchObject({
          code: "extension_unavailable",
        });
        const left = await engine.extension.list({ installationId: "any" }).catch(() => []);
        expect(left, "nothing runs without the layer").toEqual([]);
      });
    });
  }

  it("control: in a cage that lacks only what nobody needs, sandboxes work", async () => {
    await withEngine([317 + 10_000], async (engine) => {
      expect((await run(await engine.create(), ["echo", "hi"])).text).toBe("hi\n");
    });
  });
});
