import type { Session } from "./session.ts";

/** What one run of the bench answers. */
export interface Question {
  /** Rounds, or how many sandboxes, unless the command line says otherwise. */
  readonly size: number;
  ask(session: Session, size: number): Promise<Answer>;
}

export interface Answer {
  /** For people. */
  readonly lines: readonly string[];
  /** The same for programs. */
  readonly data: Readonly<Record<string, unknown>>;
}
