import { execFileSync } from "node:child_process";
import { ensureDebianPackage } from "../../tests/capabilities/debian.ts";
import { command } from "../command.ts";
import type { Subject } from "../subject.ts";

const BWRAP = "/usr/bin/bwrap";

/** One process per sandbox and nothing that lives on, so there is no exec. Its root is read-only. */
export const bubblewrap: Subject = {
  name: "bubblewrap",
  async version() {
    await ensureDebianPackage("bubblewrap");
    return execFileSync(BWRAP, ["--version"], { encoding: "utf8" }).trim().replace("bubblewrap ", "");
  },
  open: async ({ rootfs }) => {
    const root = ["--ro-bind", rootfs, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"];
    return {
      cycle: async () => {
        await command(BWRAP, ["--unshare-all", ...root, "/bin/true"]);
        return undefined;
      },
      close: async () => {},
    };
  },
};
