import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Extension,
  execRequestSchema,
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
  env: {},
  labels: {},
  ttlMs: 120_000,
};

const unsupported = () => Promise.reject(new SandboxerError("unsupported", "not in this extension"));

/** Ring one: the extension itself, nothing in between. */
export function directSubject(extension: Extension): Subject {
  const installationId = newRowId("ins");
  const orgId = newRowId("org");
  const attachmentId = newRowId("att");
  return {
    facets: extension.manifest.facets,
    async create(input = {}) {
      const sandboxId = newSandboxId();
      const box = await extension.create({ ...PLAIN_SPEC, ...input }, { installationId, orgId, sandboxId });
      return {
        id: sandboxId,
        files: box.files,
        exec: (request) => box.exec(execRequestSchema.parse(request), attachmentId),
        attachProcess: (id, from) => box.attachProcess(id, from),
        processes: () => box.processes(),
        pty: box.pty ?? { resize: unsupported },
        ports: box.ports ?? { dial: unsupported },
      };
    },
    async list() {
      return (await extension.list({ installationId })).map((box) => box.sandboxId);
    },
    destroy: (id) => extension.destroy(id, { installationId }),
    close: () => extension.close(),
  };
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
