// The published suite, run by the author of an extension.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_RESOURCES, execRequestSchema, newRowId, newSandboxId } from "@sandboxer/contract";
import { conformance } from "@sandboxer/contract/conformance";
import { createExtension } from "sandboxer-sample-extension";

const installationId = newRowId("ins");
const orgId = newRowId("org");
/** @type {import("@sandboxer/contract").SandboxSpec} */
const spec = {
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

conformance("the sample", async () => {
  const dir = await mkdtemp(join(tmpdir(), "sandboxer-sample-"));
  const extension = createExtension({ dir, options: {} });
  const { pause, stop, metrics } = extension;
  if (!pause || !stop || !metrics) throw new Error("a facet is missing");
  return {
    async create(input = {}) {
      const sandboxId = newSandboxId();
      const asked = { ...spec, ...input };
      const context = { installationId, orgId, sandboxId };
      let box = await extension.create(asked, context);
      if (!box.pty || !box.ports) throw new Error("a facet is missing");
      return {
        id: sandboxId,
        get files() {
          return box.files;
        },
        pty: box.pty,
        ports: box.ports,
        exec: (request) => box.exec(execRequestSchema.parse(request), newRowId("att")),
        attachProcess: (id, from) => box.attachProcess(id, from),
        processes: () => box.processes(),
        pause: () => pause.pause(box.ref, { installationId }),
        resume: () => pause.resume(box.ref, { installationId }),
        stop: () => stop.stop(box.ref, context),
        async start() {
          box = await stop.start(asked, context);
        },
        metrics: () => metrics.read(box.ref, { installationId }),
      };
    },
    async list() {
      return (await extension.list({ installationId })).map(({ sandboxId }) => sandboxId);
    },
    destroy: (id) => extension.destroy(id, { installationId }),
    async close() {
      await extension.close();
      await rm(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
    },
  };
});
