import type { ExecResult } from "@sandboxer/contract";
import type { Subject } from "../subject.ts";
import { openGatewayProcess } from "./gateway-process.ts";

/** A gateway serves for days: what its first requests cost while its code is compiled is not its cost. */
const WARM_UPS = 300;

/**
 * Everything a user's program goes through: SDK, HTTP, authentication, policy, route, ledger, engine;
 * `sandboxer up` in a process of its own, as users have it.
 */
export const gateway: Subject = through("sandboxer: HTTP + SDK");

/** The same where every sandbox is made when it is asked for. */
export const gatewayWithoutPool: Subject = through("sandboxer: HTTP, no pool", { SANDBOXER_POOL: "0" });

function through(name: string, variables: Readonly<Record<string, string>> = {}): Subject {
  return {
    name,
    version: async () => "this tree",
    async open(place) {
      const { client, close } = await openGatewayProcess(place, variables);
      const create = () =>
        client.sandboxes.create({ image: { kind: "rootfs", path: place.rootfs }, ttlMs: 900_000 });
      const cycle = async () => {
        const begun = performance.now();
        const sandbox = await create();
        const created = performance.now();
        succeeded(await sandbox.run(["true"]));
        const ran = performance.now();
        await sandbox.destroy();
        return { create: created - begun, "first exec": ran - created, destroy: performance.now() - ran };
      };
      try {
        const live = await create();
        const exec = async () => succeeded(await live.run(["true"]));
        for (let count = 0; count < WARM_UPS; count += 1) await exec();
        for (let count = 0; count < WARM_UPS; count += 1) await cycle();
        return { cycle, exec, close };
      } catch (error) {
        await close();
        throw error;
      }
    },
  };
}

function succeeded({ exit }: ExecResult): void {
  if (exit.kind !== "exited" || exit.code !== 0) throw new Error(`true ended with ${JSON.stringify(exit)}`);
}
