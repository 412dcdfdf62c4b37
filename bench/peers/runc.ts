import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { ensureDebianPackage } from "../../tests/capabilities/debian.ts";
import { command, launch } from "../command.ts";
import type { Subject } from "../subject.ts";
import { makeBundle } from "./oci-bundle.ts";

const RUNC = "/usr/sbin/runc";

/** What docker uses beneath, without docker. */
export const runc: Subject = {
  name: "runc",
  async version() {
    await ensureDebianPackage("runc");
    return (
      /runc version (\S+)/.exec(execFileSync(RUNC, ["--version"], { encoding: "utf8" }))?.[1] ?? "unknown"
    );
  },
  async open({ rootfs, scratch }) {
    const state = ["--root", join(scratch, "state")];
    const once = makeBundle(join(scratch, "once"), rootfs, ["true"]);
    // Its command line names our folder, by which the next run finds it if this one is killed.
    const live = makeBundle(join(scratch, "live"), rootfs, ["sh", "-c", "sleep 3600; exit", scratch]);
    // Names are the machine's: they become cgroups.
    const name = `sandboxer-bench-${process.pid}`;
    await launch(RUNC, [...state, "run", "--detach", "--bundle", live, `${name}-live`]);
    return {
      cycle: async () => {
        await command(RUNC, [...state, "run", "--bundle", once, name]);
        return undefined;
      },
      exec: () => command(RUNC, [...state, "exec", `${name}-live`, "true"]),
      close: async () => {
        await command(RUNC, [...state, "delete", "--force", `${name}-live`]);
        await command(RUNC, [...state, "delete", "--force", name]);
      },
    };
  },
};
