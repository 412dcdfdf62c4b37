/** What boxd needs to build a root: see `root` in packages/boxd/PROTOCOL.md. */
export interface Root {
  readonly lowers: readonly string[];
  readonly mounts: readonly Mount[];
  readonly tmpfs: readonly string[];
  readonly workspace?: MountedWorkspace;
  /** Who acts when nobody is named, and where, if the image says so. */
  readonly user?: string;
  readonly directory?: string;
  /** A `user` is added where the layers have none. */
  readonly addsUser?: boolean;
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

/** What a sandbox of an image is made of, and the variables it starts with. */
export interface Made {
  readonly root: Root;
  readonly env: Readonly<Record<string, string>>;
}
