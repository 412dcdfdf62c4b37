import { Agent, request } from "node:http";
import type { Subject } from "../subject.ts";
import { closeDaemon, dockerVersion, IMAGE, LIVE, openDaemon, SETTLE_MS } from "./docker-daemon.ts";

/** Docker without its command line: the calls that `docker run --rm` and `docker exec` make, on a kept connection. */
export const dockerApi: Subject = {
  name: "docker API",
  settleMs: SETTLE_MS,
  version: dockerVersion,
  async open(place) {
    const { host } = await openDaemon(place);
    const agent = new Agent({ keepAlive: true });
    const ask = createAsk(host.replace("unix://", ""), agent);
    return {
      cycle: async () => {
        const container = { Image: IMAGE, Cmd: ["true"], HostConfig: { NetworkMode: "none" } };
        const { Id } = await ask<{ Id: string }>("POST", "/containers/create", container);
        await ask("POST", `/containers/${Id}/start`);
        const { StatusCode } = await ask<{ StatusCode: number }>("POST", `/containers/${Id}/wait`);
        await ask("DELETE", `/containers/${Id}`);
        if (StatusCode !== 0) throw new Error(`the container ended with ${StatusCode}`);
        return undefined;
      },
      exec: async () => {
        const { Id } = await ask<{ Id: string }>("POST", `/containers/${LIVE}/exec`, {
          Cmd: ["true"],
          AttachStdout: true,
        });
        // Its answer is the output, and ends with the process.
        await ask("POST", `/exec/${Id}/start`, { Detach: false });
        const { ExitCode } = await ask<{ ExitCode: number }>("GET", `/exec/${Id}/json`);
        if (ExitCode !== 0) throw new Error(`exec ended with ${ExitCode}`);
      },
      close: async () => {
        agent.destroy();
        await closeDaemon();
      },
    };
  },
};

function createAsk(socketPath: string, agent: Agent) {
  return <Answer>(method: string, path: string, body?: object): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = { host: "docker", "content-type": "application/json" };
      const asked = request({ socketPath, agent, method, path, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        response.once("end", () => {
          if ((response.statusCode ?? 500) >= 300) reject(new Error(`${method} ${path}: ${text}`));
          else resolve((text.startsWith("{") ? JSON.parse(text) : {}) as Answer);
        });
      });
      asked.once("error", reject).end(body && JSON.stringify(body));
    });
}
