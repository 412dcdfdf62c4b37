import type { SecureContext } from "node:tls";
import type { GuardedKey, GuardedSecret, GuardedUsers, NetworkCall, Terms } from "@sandboxer/contract";
import { createContexts } from "../http/inspector.ts";
import { compile, type Policy } from "../policy/compile.ts";
import { type Book, openBook, type Word } from "../secrets/book.ts";
import { withFormer, withRetired } from "../secrets/gone.ts";
import { Held } from "../secrets/held.ts";
import { type AuthorityKeys, authorityOf } from "../tls/certificate.ts";
import { Explanations } from "./explanations.ts";
import { NewNames } from "./new-names.ts";

/** What is written down of a call; its number is given where it is kept. */
export type Noted = Omit<NetworkCall, "seq">;

/** What has been carried. */
export interface Spent {
  readonly upBytes: number;
  readonly downBytes: number;
}

/** A connection that was let through, for as long as it lasts. */
export interface Tunnel {
  /** Under which it was noted; a connection that is read has its requests noted instead. */
  readonly noted?: { readonly key: number; readonly call: Noted };
  /** By the rules of now. */
  stillAllowed(): boolean;
}

/** A sandbox under guard. */
export interface Ward {
  readonly sandbox: string;
  terms: Terms;
  /** Of the terms as they are at this time. */
  policy: Policy;
  users: GuardedUsers;
  secrets: readonly GuardedSecret[];
  /** What was put in once. */
  former: readonly Word[];
  book: Book;
  readonly held: Held;
  /** By purse. */
  readonly spent: Map<string, Spent>;
  /** Keys that sign logins. */
  keys: readonly GuardedKey[];
  readonly tunnels: Map<number, Tunnel>;
  readonly newNames: NewNames;
  readonly explanations: Explanations;
  /** What this sandbox takes for the certificate of a host. */
  readonly contextFor: (host: string) => SecureContext;
}

export interface Protection extends Terms {
  readonly sandbox: string;
  readonly socket: string;
  readonly authority: AuthorityKeys;
  /** What had been carried before the guard was started again. */
  readonly spent: Readonly<Record<string, Spent>>;
}

export function createWard({ sandbox, authority, socket: _, spent: before, ...terms }: Protection): Ward {
  const contextFor = createContexts(authorityOf(authority));
  const { users, secrets, keys } = terms;
  const policy = policyAt(terms, Date.now());
  const spent = new Map(Object.entries(before));
  const book = openBook(secrets);
  const fresh = {
    former: [],
    held: new Held(),
    tunnels: new Map(),
    newNames: new NewNames(),
    explanations: new Explanations(),
  };
  return { sandbox, terms, policy, users, secrets, keys, book, spent, ...fresh, contextFor };
}

/** From now on these terms hold. */
export function changeWard(ward: Ward, terms: Terms): void {
  ward.terms = terms;
  ward.policy = policyAt(terms, Date.now());
  ward.users = terms.users;
  ward.keys = terms.keys;
  ward.former = withFormer(ward.former, ward.secrets, terms.secrets);
  ward.secrets = withRetired(ward.secrets, terms.secrets);
  ward.book = openBook(ward.secrets, ward.former);
}

/** Rules that were added for a while are there until their time is up. */
export function policyAt({ network, elevated }: Pick<Terms, "network" | "elevated">, nowMs: number): Policy {
  const living = elevated.filter(({ untilMs }) => untilMs > nowMs);
  return compile({ ...network, rules: [...network.rules, ...living.flatMap(({ rules }) => rules)] });
}

/** When the rules will next be fewer. */
export function nextEnd({ elevated }: Terms, nowMs: number): number | undefined {
  const ends = elevated.flatMap(({ untilMs }) => (untilMs > nowMs ? untilMs : []));
  return ends.length > 0 ? Math.min(...ends) : undefined;
}
