import type {
  ByteStream,
  CreateBody,
  ExecInput,
  Files,
  Principal,
  Probe,
  Process,
  ProcessInfo,
  Sandbox,
  SandboxState,
  TerminalSize,
} from "@sandboxer/contract";
import type { RoutePlan } from "./route/route.ts";

/** The narrow waist, one method a verb. Every way in goes through here and nowhere else. */
export interface Core {
  /** Who holds this key. `unauthenticated` when nobody does. */
  authenticate(apiKey: string): Promise<Principal>;
  create(principal: Principal, body: CreateBody): Promise<Sandbox>;
  /** By id or by name. Somebody else's sandbox is `not_found`, exactly as an absent one. */
  get(principal: Principal, idOrName: string): Promise<Sandbox>;
  list(principal: Principal, query?: ListQuery): Promise<SandboxPage>;
  exec(principal: Principal, idOrName: string, input: ExecInput): Promise<Process>;
  attachProcess(
    principal: Principal,
    idOrName: string,
    processId: string,
    from?: { stdout?: number; stderr?: number },
  ): Promise<Process>;
  /** What runs in it, and what ended lately. */
  ps(principal: Principal, idOrName: string): Promise<ProcessInfo[]>;
  resize(principal: Principal, idOrName: string, processId: string, size: TerminalSize): Promise<void>;
  /** A connection to a port inside. */
  dial(principal: Principal, idOrName: string, port: number): Promise<ByteStream>;
  files(principal: Principal, idOrName: string): Promise<Files>;
  /** Of what is over, succeeds and answers how it ended. */
  destroy(principal: Principal, idOrName: string): Promise<Sandbox>;
  /** The route a create would take, with every rejected extension and its reason. Starts nothing. */
  explain(principal: Principal, body: CreateBody): Promise<RoutePlan>;
  /** What every extension says of this machine. */
  doctor(): Promise<ReadonlyMap<string, Probe>>;
  /** Puts right what a crash left behind, then watches the clock. */
  start(): Promise<void>;
  /** Lets go of connections and timers; sandboxes live on, and the store stays open. */
  close(): Promise<void>;
}

export interface ListQuery {
  readonly states?: readonly SandboxState[];
  readonly limit?: number;
  readonly after?: string;
}

export interface SandboxPage {
  readonly sandboxes: readonly Sandbox[];
  readonly next?: string;
}
