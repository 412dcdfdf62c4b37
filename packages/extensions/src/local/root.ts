import type { WorkspaceMode } from "@sandboxer/contract";
import type { Sensitive } from "../_kit/sensitive.ts";

/** What boxd needs to build a root: see `root` in packages/boxd/PROTOCOL.md. */
export interface Root extends Partial<Sensitive> {
  readonly lowers: readonly string[];
  readonly mounts: readonly Mount[];
  readonly tmpfs: readonly string[];
  readonly workspace?: MountedWorkspace;
  /** Who acts when nobody is named, and where, if the image says so. */
  readonly user?: string;
  readonly directory?: string;
  /** A `user` is added where the layers have none. */
  readonly addsUser?: boolean;
  /** How many layers, from the top, are what a setup wrote. */
  readonly setupLayers?: number;
  /** The layers are a folder of the caller's choice, and none that is sensitive. */
  readonly judgesLowers?: boolean;
}

export interface MountedWorkspace extends Sensitive {
  readonly source: string;
  readonly target: string;
  readonly mode: Exclude<WorkspaceMode, "mirror" | "remote">;
}

export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
  /** It is of somebody's choice, and nothing that is sensitive. */
  readonly judged?: boolean;
  /** Its owner is the sandbox's `user`, and everybody else of the sandbox is nobody outside. */
  readonly owned?: boolean;
}

/** What a sandbox of an image is made of, and the variables it starts with. */
export interface Made {
  readonly root: Root;
  readonly env: Readonly<Record<string, string>>;
}
