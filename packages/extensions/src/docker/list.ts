import type { ListedBox } from "@sandboxer/contract";
import type { DockerApi } from "./api.ts";
import { LABEL } from "./container.ts";
import { expectStatus } from "./failure.ts";
import { RUNTIMES } from "./runtime.ts";

interface Listed {
  readonly State: string;
  readonly Labels: Readonly<Record<string, string>>;
}

interface Whose {
  readonly installationId: string;
  readonly hostId: string;
  readonly extensionId: string;
}

/** Only what carries this installation's label, and is of this runtime, is ours to know about. */
export async function listContainers(
  api: DockerApi,
  { installationId, hostId, extensionId }: Whose,
): Promise<ListedBox[]> {
  const filters = JSON.stringify({ label: [`${LABEL.installation}=${installationId}`] });
  const answer = await api.call("GET", `/containers/json?all=true&filters=${encodeURIComponent(filters)}`);
  const containers = expectStatus(answer, "listing containers", 200).body as Listed[];
  return containers
    .filter(({ Labels }) => (Labels[LABEL.extension] ?? RUNTIMES.runc.id) === extensionId)
    .filter(({ State }) => State === "running" || State === "created" || State === "paused")
    .map(({ Labels }) => ({
      ref: Labels[LABEL.sandbox] ?? "",
      sandboxId: Labels[LABEL.sandbox] ?? "",
      hostId,
      installationId,
      createdAtMs: Number(Labels[LABEL.createdAtMs]),
    }));
}
