import { join } from "node:path";
import {
  type Box,
  type CreateContext,
  collect,
  DEFAULT_RESOURCES,
  type ExecRequest,
  type Extension,
  newSandboxId,
  type SandboxSpec,
} from "@sandboxer/contract";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { endProcessesOf } from "../../tests/capabilities/processes.ts";
import type { Place } from "../subject.ts";

export interface Engine {
  readonly extension: Extension;
  /** Of hold and every sandbox's first process. */
  readonly directory: string;
  /** With a copy of this folder to work on, where one is named. */
  create(workspace?: string): Promise<Box>;
  /** With a point of its workspace before it, where so many are kept. */
  run(box: Box, argv: string[], points?: number): Promise<void>;
  runTrue(box: Box): Promise<void>;
  destroy(box: Box): Promise<void>;
  close(): Promise<void>;
}

/** The extension itself, without core and without HTTP. */
export async function openEngine({ rootfs, scratch }: Place, pool = 0): Promise<Engine> {
  const directory = join(scratch, "engine");
  const extension = createLocalExtension({ dir: directory, pool });
  const probe = await extension.probe();
  if (probe.status === "unavailable") throw new Error(`${probe.reason} ${probe.fix}`);
  const context = (): CreateContext => ({
    installationId: "bench",
    orgId: "bench",
    sandboxId: newSandboxId(),
  });
  const spec = specOf(rootfs);
  return {
    extension,
    directory,
    create: (source) => extension.create({ ...spec, ...workspaceOf(source) }, context()),
    run,
    runTrue: (box) => run(box, ["true"]),
    async destroy(box) {
      await extension.destroy(box.ref, context());
      box.close();
    },
    async close() {
      for (const { ref } of await extension.list(context())) await extension.destroy(ref, context());
      await extension.close();
      endProcessesOf(directory);
    },
  };
}

async function run(box: Box, argv: string[], points?: number): Promise<void> {
  const request: ExecRequest = { argv, env: {}, stdin: false };
  const { exit } = await collect(await box.exec(request, "bench", points));
  if (exit.kind !== "exited" || exit.code !== 0) {
    throw new Error(`${argv[0]} ended with ${JSON.stringify(exit)}`);
  }
}

function workspaceOf(source: string | undefined): Pick<SandboxSpec, "workspace"> {
  if (source === undefined) return {};
  return { workspace: { source, target: "/workspace", mode: "copy-on-write", allowSensitive: false } };
}

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
