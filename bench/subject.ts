/** Where a run keeps its things; all of it is gone afterwards. */
export interface Place {
  /** The same tree of programs for everybody. */
  readonly rootfs: string;
  /** A folder of the subject's own. */
  readonly scratch: string;
}

/** Milliseconds of the stages of a cycle, for subjects that can tell. */
export type Stages = Readonly<Record<string, number>>;

export interface Opened {
  /** Makes a sandbox, runs `true` in it and takes it down. */
  cycle(): Promise<Stages | undefined>;
  /** Runs `true` in a sandbox that lives already, where there is such a thing. */
  exec?(): Promise<void>;
  close(): Promise<void>;
}

/** What is measured: ours and the peers have the same shape. A subject that cannot run here throws why. */
export interface Subject {
  readonly name: string;
  /** Rest after each command, for those that leave work behind for others to trip over. */
  readonly settleMs?: number;
  version(): Promise<string>;
  open(place: Place): Promise<Opened>;
}
