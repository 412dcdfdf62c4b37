import type { ListedBox } from "@sandboxer/contract";
import type { DockerApi } from "./api.ts";
import { LABEL, nameOf } from "./container.ts";
import { expectStatus } from "./failure.ts";
import { RUNTIMES } from "./runtime.ts";

interface Listed {
  readonly State: string;
  /** With a slash before each; none while the daemon removes it. */
  readonly Names: readonly string[] | null;
  readonly Labels: Readonly<Record<string, string>>;
}

interface Whose {
  readonly installationId: string;
  readonly hostId: string;
  readonly extensionId: string;
}

/**
 * Only what carries this installation's label, and is of this runtime, is ours to know about. An image
 * made of a sandbox has its labels too, and so do that image's containers: a sandbox's has its name.
 */
export async function listContainers(
  api: DockerApi,
  { installationId, hostId, extensionId }: Whose,
): Promise<ListedBox[]> {
  const filters = JSON.stringify({ label: [`${LABEL.installation}=${installationId}`] });
  const answer = await api.call("GET", `/containers/json?all=true&filters=${encodeURIComponent(filters)}`);
  const containers = expectStatus(answer, "listing containers", 200).body as Listed[];
  return containers
    .filter(({ Labels }) => (Labels[LABEL.extension] ?? RUNTIMES.runc.id) === extensionId)
    .filter(({ Names, Labels }) => Names?.includes(`/${nameOf(Labels[LABEL.sandbox] ?? "")}`))
    .filter(({ State }) => State === "running" || State === "created" || State === "paused")
    .map(({ Labels }) => ({
      ref: Labels[LABEL.sandbox] ?? "",
      sandboxId: Labels[LABEL.sandbox] ?? "",
      hostId,
      installationId,
      createdAtMs: Number(Labels[LABEL.createdAtMs]),
    }));
}
