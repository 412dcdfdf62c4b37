import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { ensureDebianPackage } from "../../tests/capabilities/debian.ts";
import { command, launch } from "../command.ts";
import type { Subject } from "../subject.ts";
import { makeBundle } from "./oci-bundle.ts";

const RUNSC = "/usr/bin/runsc";

/** Debian's runsc is from before systrap, so this is ptrace: a kernel in user space, and not its fastest. */
export const gvisor: Subject = {
  name: "gVisor (runsc, ptrace)",
  async version() {
    await ensureDebianPackage("runsc");
    await ensureDebianPackage("runc"); // writes the bundle
    return /version (\S+)/.exec(execFileSync(RUNSC, ["--version"], { encoding: "utf8" }))?.[1] ?? "unknown";
  },
  async open({ rootfs, scratch }) {
    // It cannot manage hybrid cgroups; without them it has less to do, not more.
    const flags = [
      "--root",
      join(scratch, "state"),
      "--platform=ptrace",
      "--network=none",
      "--ignore-cgroups",
    ];
    const once = makeBundle(join(scratch, "once"), rootfs, ["true"]);
    const live = makeBundle(join(scratch, "live"), rootfs, ["sleep", "3600"]);
    await launch(RUNSC, [...flags, "run", "--detach", "--bundle", live, "live"]);
    return {
      cycle: async () => {
        await command(RUNSC, [...flags, "run", "--bundle", once, "once"]);
        return undefined;
      },
      exec: () => command(RUNSC, [...flags, "exec", "live", "/bin/true"]),
      close: async () => {
        await command(RUNSC, [...flags, "delete", "--force", "live"]);
        await command(RUNSC, [...flags, "delete", "--force", "once"]);
      },
    };
  },
};
