import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  DEFAULT_RESOURCES,
  type Extension,
  execRequestSchema,
  type Image,
  newRowId,
  newSandboxId,
  SandboxerError,
  type SandboxSpec,
} from "@sandboxer/contract";
import type { Subject } from "@sandboxer/contract/conformance";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { removeEngine } from "./remove-engine.ts";

export const PLAIN_SPEC: SandboxSpec = {
  schema: 1,
  image: { kind: "host" },
  isolation: "process",
  persistence: "ephemeral",
  network: { egress: "deny" },
  resources: DEFAULT_RESOURCES,
  limits: "best-effort",
  env: {},
  labels: {},
  ttlMs: 900_000,
};

const unsupported = () => Promise.reject(new SandboxerError("unsupported", "not in this extension"));

/** Ring one: the extension itself, nothing in between. */
export function directSubject(extension: Extension, image: Image = { kind: "host" }): Subject {
  const installationId = newRowId("ins");
  const orgId = newRowId("org");
  const attachmentId = newRowId("att");
  return {
    async create(input = {}) {
      const sandboxId = newSandboxId();
      const spec = { ...PLAIN_SPEC, image, ...input };
      const context = { installationId, orgId, sandboxId };
      let box = await extension.create(spec, context);
      return {
        id: sandboxId,
        get files() {
          return box.files;
        },
        exec: (request) => box.exec(execRequestSchema.parse(request), attachmentId),
        attachProcess: (id, from) => box.attachProcess(id, from),
        processes: () => box.processes(),
        pty: box.pty ?? { resize: unsupported },
        ports: box.ports ?? { dial: unsupported },
        pause: async () => facet(extension.pause).pause(box.ref, { installationId }),
        resume: async () => facet(extension.pause).resume(box.ref, { installationId }),
        async stop() {
          await facet(extension.stop).stop(box.ref, context);
        },
        async start() {
          box = await facet(extension.stop).start(spec, context);
        },
        metrics: async () => facet(extension.metrics).read(box.ref, { installationId }),
      };
    },
    async list() {
      return (await extension.list({ installationId })).map((box) => box.sandboxId);
    },
    destroy: (id) => extension.destroy(id, { installationId }),
    close: () => extension.close(),
  };
}

function facet<T>(there: T | undefined): T {
  if (there) return there;
  throw new SandboxerError("unsupported", "the extension does not have this facet");
}

export async function openDirect(): Promise<Subject> {
  const dir = await mkdtemp(join(tmpdir(), "sandboxer-direct-"));
  const subject = directSubject(createLocalExtension({ dir }));
  return {
    ...subject,
    async close() {
      await subject.close();
      await removeEngine(dir);
    },
  };
}
