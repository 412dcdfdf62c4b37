import type { SecureContext } from "node:tls";
import type { GuardedSecret, GuardedUsers, NetworkCall, Terms } from "@sandboxer/contract";
import { createContexts } from "../http/inspector.ts";
import { compile, type Policy } from "../policy/compile.ts";
import { type Book, openBook, withRetired } from "../secrets/book.ts";
import { type AuthorityKeys, authorityOf } from "../tls/certificate.ts";

/** What is written down of a call; its number is given where it is kept. */
export type Noted = Omit<NetworkCall, "seq">;

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
  policy: Policy;
  users: GuardedUsers;
  secrets: readonly GuardedSecret[];
  book: Book;
  readonly tunnels: Map<number, Tunnel>;
  /** What this sandbox takes for the certificate of a host. */
  readonly contextFor: (host: string) => SecureContext;
}

export interface Protection extends Terms {
  readonly sandbox: string;
  readonly socket: string;
  readonly authority: AuthorityKeys;
}

export function createWard({ sandbox, network, users, secrets, authority }: Protection): Ward {
  const contextFor = createContexts(authorityOf(authority));
  const book = openBook(secrets);
  return { sandbox, policy: compile(network), users, secrets, book, tunnels: new Map(), contextFor };
}

/** From now on these terms hold. */
export function changeWard(ward: Ward, { network, users, secrets }: Terms): void {
  ward.policy = compile(network);
  ward.users = users;
  ward.secrets = withRetired(ward.secrets, secrets);
  ward.book = openBook(ward.secrets);
}
