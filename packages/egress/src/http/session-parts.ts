import type { Duplex } from "node:stream";
import type { Caught } from "../dlp/watch.ts";
import type { AskedRequest, Decision } from "../policy/decide.ts";
import type { Unreachable } from "../resolve.ts";
import type { Filled } from "../secrets/gate.ts";
import type { Stopped } from "../secrets/stopped.ts";
import type { Place } from "./authority.ts";
import type { Head } from "./head.ts";
import type { Upstream } from "./upstream.ts";

/** One request, for the log. */
export interface RequestNote {
  readonly place?: Place;
  readonly method?: string;
  readonly path?: string;
  readonly scheme?: "http" | "https";
  readonly verdict: "allowed" | "denied" | "audited" | "failed";
  readonly rule?: string;
  readonly reason?: string;
  readonly cure?: Unreachable["cure"];
  readonly status?: number;
  /** A secret that was about to be lost. */
  readonly misuse?: Stopped["misuse"] | Caught["misuse"];
}

export interface SessionParts {
  readonly client: Duplex;
  readonly scheme: "http" | "https";
  /** Where the connection leads; absent for one to the proxy, which says so with every request. */
  readonly place?: Place;
  /** Where whoever is denied may learn more. */
  readonly hint: string;
  decide(asked: AskedRequest): Decision;
  /** Whether somebody allows what a rule leaves open; resolves when there is an answer. */
  ask(asked: AskedRequest, rule: string | undefined): Promise<boolean>;
  /** The request with its secrets in place. Throws `Refused`. */
  fill(asked: AskedRequest, head: Head): Promise<Filled>;
  /** The far side for a request that is allowed, or why there is none. */
  reach(place: Place, cidrs: readonly string[]): Promise<Upstream | Unreachable>;
  /** What is being asked right now, for rules that change meanwhile. */
  asking(asked: AskedRequest | undefined): void;
  note(note: RequestNote): void;
}
