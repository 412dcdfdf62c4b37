import type { SecureContext } from "node:tls";
import type { Misuse } from "@sandboxer/contract";
import type { Resolve } from "../resolve.ts";
import type { Diary } from "./diary.ts";
import type { Questions } from "./questions.ts";
import type { Relay } from "./relay.ts";
import type { Tunnels } from "./tunnels.ts";
import type { Noted, Spent, Ward } from "./ward.ts";

/** What the guard works with, and whom it tells. */
export interface GuardParts {
  readonly relay: Relay;
  readonly resolve: Resolve;
  /** Whom to trust on the far side of what is read. */
  readonly trust: SecureContext;
  /** The first word on a call, and later ones under the same key. */
  note(sandbox: string, key: number, call: Noted): void;
  watching(sandbox: string): void;
  lost(sandbox: string, reason: string): void;
  spent(sandbox: string, purse: string, spent: Spent): void;
  misused(sandbox: string, misuse: Misuse): void;
  readonly questions: Questions;
}

/** And what it has made of that. */
export interface DecidingParts extends GuardParts {
  readonly diary: Diary;
  readonly tunnels: Tunnels;
  wardOf(sandbox: string): Ward | undefined;
}
