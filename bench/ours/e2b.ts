import { Sandbox } from "e2b";
import type { Subject } from "../subject.ts";
import { openGatewayProcess } from "./gateway-process.ts";

/** E2B's own client, as it is, with `sandboxer up` at the other end. */
export const e2b: Subject = {
  name: "e2b's client",
  version: async () => "this tree",
  async open(place) {
    const { url, apiKey, close } = await openGatewayProcess(place);
    const options = { apiKey, apiUrl: url, sandboxUrl: url, timeoutMs: 900_000 };
    const live = await Sandbox.create("base", options);
    return {
      cycle: async () => {
        const begun = performance.now();
        const sandbox = await Sandbox.create("base", options);
        const created = performance.now();
        await sandbox.commands.run("true");
        const ran = performance.now();
        await sandbox.kill();
        return { create: created - begun, "first exec": ran - created, destroy: performance.now() - ran };
      },
      exec: async () => void (await live.commands.run("true")),
      close,
    };
  },
};
