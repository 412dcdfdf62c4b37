import type { Files } from "../files.ts";
import type { Facet } from "../manifest.ts";
import type { Ports } from "../ports.ts";
import type { ExecInput, Process, ProcessInfo, Terminals } from "../process.ts";

/**
 * What the suite drives. The same cases run in three rings: on an extension directly, through
 * core, and through gateway and SDK; each ring brings a small adapter to this.
 */
export interface Subject {
  /** As the manifest lists them. */
  readonly facets: readonly Facet[];
  create(input?: { env?: Record<string, string>; ttlMs?: number }): Promise<SubjectSandbox>;
  /** Ids of the sandboxes that live. */
  list(): Promise<string[]>;
  destroy(id: string): Promise<void>;
  close(): Promise<void>;
}

export interface SubjectSandbox {
  readonly id: string;
  exec(input: ExecInput): Promise<Process>;
  attachProcess(id: string, from?: { stdout?: number; stderr?: number }): Promise<Process>;
  processes(): Promise<ProcessInfo[]>;
  readonly files: Files;
  /** Where the facet is absent, these refuse with `unsupported`. */
  readonly pty: Terminals;
  readonly ports: Ports;
}

/** One promise of the contract. Cases that share a sandbox must not depend on one another. */
export interface Case {
  readonly name: string;
  /** What the case is about. A subject without the facet must refuse it as `unsupported`. */
  readonly facet?: Facet;
  run(context: { subject: Subject; sandbox: SubjectSandbox }): Promise<void>;
}
