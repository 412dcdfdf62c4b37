import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { inGuest } from "./in-guest.ts";

const BOOTS_WITHIN_MS = 400_000;

const { describe, given } = await requires("qemu");

describe(
  "a guest",
  () => {
    it("is a Debian of its own with cgroup v2 alone and no network, and says how its script ended", async () => {
      const script = `
      uname -rv; id -u; ls /sys/class/net; cat /given/file
      grep -c '^cgroup ' /proc/mounts; cat /sys/fs/cgroup/cgroup.controllers
      echo complaint >&2; exit 3`;
      const result = await inGuest(given.qemu, { script, files: { file: "/etc/debian_version" } });
      const [kernel, uid, interfaces, , version1, controllers] = result.report.split("\n");
      expect(kernel).toMatch(new RegExp(`^${given.qemu.kernel.release} .* Debian `));
      expect([uid, interfaces, version1]).toEqual(["0", "lo", "0"]);
      for (const needed of ["cpu", "memory", "pids"]) expect(controllers?.split(" ")).toContain(needed);
      expect(result.console).toContain("complaint");
      expect(result.status).toBe(3);
    });

    it("may break its kernel, which is seen here and does nothing here", async () => {
      const result = await inGuest(given.qemu, {
        script: "echo before; echo c > /proc/sysrq-trigger; echo after",
      });
      expect(result.report).toBe("before\n");
      expect(result.status).toBeUndefined();
      expect(result.console).toContain("Kernel panic");
    });

    it("PO-3 has a kernel that can make folders when the map of free blocks was forgotten", async () => {
      // What reading a few large files does to a machine with little memory, at once.
      const script = `
        truncate -s 64M /tmp/image && mkfs.ext4 -q /tmp/image && mkdir /tmp/disk
        busybox mount -o loop /tmp/image /tmp/disk && mkdir /tmp/disk/one && sync
        echo 3 > /proc/sys/vm/drop_caches; mkdir /tmp/disk/two && ls -1 /tmp/disk`;
      const result = await inGuest(given.qemu, { script });
      expect(result.report, result.console).toContain("one\ntwo\n");
      expect(result.status, result.console).toBe(0);
    });

    it("is ended when it takes too long, and leaves nothing", async () => {
      // Other files have guests at the same time: this one is in a folder of its own.
      const place = mkdtempSync(join(process.env.SANDBOXER_RUN_DIRECTORY || tmpdir(), "brief-"));
      vi.stubEnv("SANDBOXER_RUN_DIRECTORY", place);
      const result = await inGuest(given.qemu, { script: "sleep 600", endsWithinMs: 500 }).finally(() =>
        vi.unstubAllEnvs(),
      );
      expect(result.status).toBeUndefined();
      expect(result.console).toContain("ended by force");
      expect(readdirSync(place)).toEqual([]);
      rmSync(place, { recursive: true });
    });
  },
  BOOTS_WITHIN_MS,
);
