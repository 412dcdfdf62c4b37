import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { endProcessesOf } from "../../tests/capabilities/processes.ts";
import { command } from "../command.ts";
import type { Subject } from "../subject.ts";

const SANDBOXER = fileURLToPath(new URL("../../apps/cli/bin/sandboxer", import.meta.url));

/** A process per sandbox and no gateway running, as `docker run` is used; most of it is Node starting. */
export const cli: Subject = {
  name: "sandboxer run",
  version: async () => "this tree",
  async open({ rootfs, scratch }) {
    const home = join(scratch, "home");
    const PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;
    const env = { ...process.env, PATH, SANDBOXER_HOME: home, XDG_CACHE_HOME: join(scratch, "cache") };
    const run = (): Promise<void> => command(SANDBOXER, ["run", "--rootfs", rootfs, "--", "true"], { env });
    const close = async (): Promise<void> => endProcessesOf(join(home, "engine"));
    await run().catch(async (error) => {
      await close();
      throw error;
    });
    return {
      cycle: async () => {
        await run();
        return undefined;
      },
      close,
    };
  },
};
