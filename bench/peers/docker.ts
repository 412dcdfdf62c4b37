import { command } from "../command.ts";
import type { Subject } from "../subject.ts";
import { closeDaemon, dockerVersion, IMAGE, LIVE, openDaemon, SETTLE_MS } from "./docker-daemon.ts";

/** As people use it: `docker run --rm` and `docker exec`. */
export const docker: Subject = {
  name: "docker run / exec",
  settleMs: SETTLE_MS,
  version: dockerVersion,
  async open(place) {
    const { cli, host } = await openDaemon(place);
    return {
      cycle: async () => {
        await command(cli, ["--host", host, "run", "--rm", "--network=none", IMAGE, "true"]);
        return undefined;
      },
      exec: () => command(cli, ["--host", host, "exec", LIVE, "true"]),
      close: closeDaemon,
    };
  },
};
