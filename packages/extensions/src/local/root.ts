/** What boxd needs to build a root: see `root` in packages/boxd/PROTOCOL.md. */
export interface Root {
  readonly lowers: readonly string[];
  readonly mounts: readonly Mount[];
  readonly tmpfs: readonly string[];
  readonly workspace?: MountedWorkspace;
}

export interface MountedWorkspace {
  readonly source: string;
  readonly target: string;
  readonly mode: string;
  readonly forbidden: readonly string[];
  readonly tooWide: readonly string[];
}

export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}
