import type { Workspace } from "@sandboxer/contract";
import { sensitivePlaces } from "../_kit/sensitive.ts";
import type { MountedWorkspace } from "./root.ts";

type Mounted = Workspace & { readonly mode: MountedWorkspace["mode"] };

/** Whether the sandbox is shown the folder itself; of the others it has a copy. */
export function isMounted(workspace: Workspace): workspace is Mounted {
  return workspace.mode !== "mirror" && workspace.mode !== "remote";
}

/** boxd compares folders and not names, so neither links nor mounts get around it. */
export function workspaceFor(
  { source, target, mode, allowSensitive }: Mounted,
  ownFolders: readonly string[],
): MountedWorkspace {
  if (allowSensitive) return { source, target, mode, forbidden: [], tooWide: [] };
  return { source, target, mode, ...sensitivePlaces(ownFolders) };
}
