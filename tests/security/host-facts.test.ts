import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import type { Box } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { bringProbe, type Engine, openEngine, run, shell } from "./engine.ts";
import { KERNEL_SURFACE } from "./verdicts.ts";

const { describe, given } = await requires("linux-userns", "boxd", "probe", "root");

/** Everything a program can read about itself, its neighbours and the kernel, but for the programs of the host. */
const EVERYTHING = [
  "cat /proc/self/mountinfo /proc/self/mounts /proc/self/mountstats /proc/self/cgroup /proc/1/cgroup",
  "cat /proc/self/environ /proc/*/environ /proc/*/cmdline /proc/cmdline /proc/version /proc/swaps",
  "cat /proc/net/* /proc/sys/kernel/hostname /proc/sys/kernel/domainname /proc/sys/kernel/osrelease",
  "cat /etc/host* /etc/passwd /etc/group /etc/machine-id /etc/resolv.conf",
  "find /sys /run /home /root /opt /var /srv /mnt /etc -maxdepth 3 -not -path '/etc/alternatives/*' -not -path '/etc/ssl/*'",
  "hostname; uname -n; id; env; df -a; ls -la /proc/1/ /proc/self/fd/",
].join("; ");

describe("what a sandbox learns of its host", () => {
  let engine: Engine;
  let box: Box;

  beforeAll(async () => {
    engine = await openEngine({ boxdPath: given.boxd.path });
    box = await engine.create();
  });
  afterAll(() => engine.close());

  it("NS-11 is none of its names, paths and people", async () => {
    const machineId = (() => {
      try {
        return readFileSync("/etc/machine-id", "utf8").trim();
      } catch {
        return "";
      }
    })();
    const secrets = {
      "the engine's folder": engine.dir,
      "where boxd lies": dirname(given.boxd.path),
      "the host's name": hostname(),
      "the machine's id": machineId,
      "how the host was started": readFileSync("/proc/cmdline", "utf8").trim(),
      "the host's boot options": "BOOT_IMAGE",
    };
    for (const user of ["user", "root"]) {
      const { text } = await shell(box, `(${EVERYTHING}) 2>/dev/null; true`, { user });
      expect(text.length, "control: there is something to look through").toBeGreaterThan(2_000);
      for (const [what, secret] of Object.entries(secrets)) {
        if (secret.length > 3) expect(text.includes(secret), `${user}: ${what}`).toBe(false);
      }
    }
  });

  it("NS-11 control: a leak is seen", async () => {
    const leaky = await engine.create(undefined, { LEAK: engine.dir });
    const { text } = await shell(leaky, `(${EVERYTHING}) 2>/dev/null; true`);
    expect(text.includes(engine.dir)).toBe(true);
    await engine.destroy(leaky);
  });

  it("NS-11 names itself, not the host", async () => {
    expect((await run(box, ["uname", "-n"])).text).toBe("sandbox\n");
    expect((await shell(box, "ls -A /sys; cat /proc/cmdline | wc -c")).text).toBe("devices\n0\n");
  });

  it("XS-6 has no keyring of anybody's", async () => {
    const probe = await bringProbe(box, given.probe.path);
    for (const user of ["user", "root"]) {
      const masked = await shell(box, "cat /proc/keys /proc/key-users | wc -c", { user });
      expect(masked.text, user).toBe("0\n");
      for (const call of ["keyctl", "add_key", "request_key"] as const) {
        const said = await run(box, [probe, "call", String(KERNEL_SURFACE[call]), "0", "0", "0"], { user });
        expect(said.text, `${user} ${call}`).toBe("1\n");
      }
    }
    expect(readFileSync("/proc/key-users", "utf8"), "control: the host has some").not.toBe("");
  });
});
