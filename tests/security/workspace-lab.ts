import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Box, newRowId, newSandboxId, type WorkspaceMode } from "@sandboxer/contract";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { removeEngine } from "../conformance/remove-engine.ts";

/** An engine in `place`, whose sandboxes work on folders of the host. */
export type WorkspaceLab = Awaited<ReturnType<typeof openWorkspaceLab>>;

export async function openWorkspaceLab(name: string) {
  const place = await mkdtemp(join(tmpdir(), `sandboxer-${name}-`));
  await chmod(place, 0o755);
  const context = { installationId: newRowId("ins"), orgId: newRowId("org") };
  const extension = createLocalExtension({ dir: join(place, "engine"), home: join(place, "installation") });
  return {
    place,
    create: (source: string, mode: WorkspaceMode = "copy-on-write", allowSensitive = false) =>
      extension.create(
        { ...PLAIN_SPEC, workspace: { source, target: "/workspace", mode, allowSensitive } },
        { ...context, sandboxId: newSandboxId() },
      ),
    attach: (box: Box) => extension.attach(box.ref, context),
    list: () => extension.list(context),
    destroy: (box: Box) => extension.destroy(box.ref, context),
    async close() {
      await extension.close();
      await removeEngine(join(place, "engine"), place);
    },
  };
}
