import { Sandbox } from "e2b";
import type { Subject } from "../subject.ts";
import { openGatewayProcess } from "./gateway-process.ts";

/** As every gateway that is measured here is asked before it counts. */
const WARM_UPS = 300;

/** E2B's own client, as it is, with `sandboxer up` at the other end. */
export const e2b: Subject = {
  name: "e2b's client",
  version: async () => "this tree",
  async open(place) {
    const { url, apiKey, close } = await openGatewayProcess(place);
    try {
      return { ...(await asking(url, apiKey)), close };
    } catch (error) {
      await close();
      throw error;
    }
  },
};

/** What a program of E2B's does, at whichever server; its client and that server are warm then. */
export async function asking(url: string, apiKey: string) {
  const options = { apiKey, apiUrl: url, sandboxUrl: url, timeoutMs: 900_000 };
  const live = await Sandbox.create("base", options);
  const exec = async () => void (await live.commands.run("true"));
  const cycle = async () => {
    const begun = performance.now();
    const sandbox = await Sandbox.create("base", options);
    const created = performance.now();
    await sandbox.commands.run("true");
    const ran = performance.now();
    await sandbox.kill();
    return { create: created - begun, "first exec": ran - created, destroy: performance.now() - ran };
  };
  for (let count = 0; count < WARM_UPS; count += 1) await exec();
  for (let count = 0; count < WARM_UPS; count += 1) await cycle();
  return { cycle, exec };
}
