import type { Files } from "../files.ts";
import type { Metrics } from "../metrics.ts";
import type { Ports } from "../ports.ts";
import type { ExecInput, Process, ProcessInfo, Terminals } from "../process.ts";

/**
 * What the suite drives. The same cases run in three rings: on an extension directly, through
 * core, and through gateway and SDK; each ring brings a small adapter to this.
 */
export interface Subject {
  create(input?: {
    env?: Record<string, string>;
    ttlMs?: number;
    root?: "allowed" | "denied";
    persistence?: "persistent";
  }): Promise<SubjectSandbox>;
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
  pause(): Promise<unknown>;
  resume(): Promise<unknown>;
  stop(): Promise<unknown>;
  /** Everything else then goes to its new first process. */
  start(): Promise<unknown>;
  metrics(): Promise<Metrics>;
}

/** One promise of the contract. Cases that share a sandbox must not depend on one another. */
export interface Case {
  readonly name: string;
  run(context: { subject: Subject; sandbox: SubjectSandbox }): Promise<void>;
}
