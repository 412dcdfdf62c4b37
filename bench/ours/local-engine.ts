import { join } from "node:path";
import {
  type CreateContext,
  collect,
  DEFAULT_RESOURCES,
  type ExecRequest,
  newSandboxId,
  type Process,
  type SandboxSpec,
} from "@sandboxer/contract";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { endProcessesOf } from "../../tests/capabilities/processes.ts";
import type { Subject } from "../subject.ts";

const TRUE: ExecRequest = { argv: ["true"], env: {}, stdin: false };

/** The extension itself, without core and without HTTP. */
export const localEngine: Subject = {
  name: "sandboxer: local engine",
  version: async () => "this tree",
  async open({ rootfs, scratch }) {
    const directory = join(scratch, "engine");
    const extension = createLocalExtension({ dir: directory });
    const probe = await extension.probe();
    if (probe.status === "unavailable") throw new Error(`${probe.reason} ${probe.fix}`);
    const context = (): CreateContext => ({
      installationId: "bench",
      orgId: "bench",
      sandboxId: newSandboxId(),
    });
    const spec = specOf(rootfs);
    const close = async (): Promise<void> => {
      for (const { ref } of await extension.list(context())) await extension.destroy(ref, context());
      await extension.close();
      endProcessesOf(directory);
    };
    const live = await extension.create(spec, context()).catch(async (error) => {
      await close();
      throw error;
    });
    return {
      cycle: async () => {
        const begun = performance.now();
        const box = await extension.create(spec, context());
        const created = performance.now();
        await succeeds(await box.exec(TRUE, "bench"));
        const ran = performance.now();
        await extension.destroy(box.ref, context());
        const destroyed = performance.now();
        box.close();
        return { create: created - begun, "first exec": ran - created, destroy: destroyed - ran };
      },
      exec: async () => succeeds(await live.exec(TRUE, "bench")),
      close: async () => {
        live.close();
        await close();
      },
    };
  },
};

function specOf(rootfs: string): SandboxSpec {
  return {
    schema: 1,
    image: { kind: "rootfs", path: rootfs },
    isolation: "process",
    persistence: "ephemeral",
    network: { egress: "deny" },
    resources: DEFAULT_RESOURCES,
    limits: "best-effort",
    env: {},
    labels: {},
    ttlMs: 900_000,
  };
}

async function succeeds(process: Process): Promise<void> {
  const { exit } = await collect(process);
  if (exit.kind !== "exited" || exit.code !== 0) throw new Error(`true ended with ${JSON.stringify(exit)}`);
}
