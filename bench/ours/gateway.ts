import { join } from "node:path";
import type { ExecResult } from "@sandboxer/contract";
import { openGateway, silent } from "@sandboxer/gateway";
import { createClient, type Sandbox } from "@sandboxer/sdk";
import { endProcessesOf } from "../../tests/capabilities/processes.ts";
import type { Subject } from "../subject.ts";

/** Everything a user's program goes through: SDK, HTTP, authentication, policy, route, ledger, engine. */
export const gateway: Subject = {
  name: "sandboxer: HTTP + SDK",
  version: async () => "this tree",
  async open({ rootfs, scratch }) {
    const home = join(scratch, "home");
    const opened = await openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: silent });
    const client = createClient({ url: opened.url ?? "", apiKey: opened.apiKey });
    const create = (): Promise<Sandbox> =>
      client.sandboxes.create({ image: { kind: "rootfs", path: rootfs }, ttlMs: 900_000 });
    const close = async (): Promise<void> => {
      for await (const sandbox of client.sandboxes.all({ states: ["running"] })) await sandbox.destroy();
      await opened.close();
      endProcessesOf(join(home, "engine"));
    };
    try {
      const live = await create();
      return {
        cycle: async () => {
          const begun = performance.now();
          const sandbox = await create();
          const created = performance.now();
          succeeded(await sandbox.run(["true"]));
          const ran = performance.now();
          await sandbox.destroy();
          return { create: created - begun, "first exec": ran - created, destroy: performance.now() - ran };
        },
        exec: async () => succeeded(await live.run(["true"])),
        close,
      };
    } catch (error) {
      await close();
      throw error;
    }
  },
};

function succeeded({ exit }: ExecResult): void {
  if (exit.kind !== "exited" || exit.code !== 0) throw new Error(`true ended with ${JSON.stringify(exit)}`);
}
