import { join } from "node:path";
import {
  collect,
  DEFAULT_RESOURCES,
  execRequestSchema,
  newRowId,
  newSandboxId,
  type SandboxSpec,
} from "@sandboxer/contract";
import { createDockerExtension } from "@sandboxer/extensions/docker";
import { closeDaemon, dockerVersion, IMAGE, openDaemon, SETTLE_MS } from "../peers/docker-daemon.ts";
import type { Subject } from "../subject.ts";

const SPEC: SandboxSpec = {
  schema: 1,
  image: { kind: "oci", ref: IMAGE },
  isolation: "container",
  persistence: "ephemeral",
  network: { egress: "deny" },
  resources: DEFAULT_RESOURCES,
  limits: "best-effort",
  env: {},
  labels: {},
  ttlMs: 900_000,
};
const TRUE = execRequestSchema.parse({ argv: ["true"] });

/** A container with boxd in it: docker makes it, and is not on the way of a command. */
export const dockerExtension: Subject = {
  name: "sandboxer: docker extension",
  settleMs: SETTLE_MS,
  version: dockerVersion,
  async open(place) {
    const { host } = await openDaemon(place);
    const extension = createDockerExtension({
      dir: join(place.scratch, "boxes"),
      socketPath: host.replace("unix://", ""),
    });
    const context = { installationId: newRowId("ins"), orgId: newRowId("org") };
    const create = () => extension.create(SPEC, { ...context, sandboxId: newSandboxId() });
    const live = await create();
    const runTrue = async (box: typeof live) => void (await collect(await box.exec(TRUE, newRowId("att"))));
    return {
      cycle: async () => {
        const box = await create();
        await runTrue(box);
        box.close();
        await extension.destroy(box.ref, context);
        return undefined;
      },
      exec: () => runTrue(live),
      async close() {
        live.close();
        await extension.destroy(live.ref, context);
        await extension.close();
        await closeDaemon();
      },
    };
  },
};
