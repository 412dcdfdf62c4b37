import type { Files, Principal, Sandbox } from "@sandboxer/contract";
import type { Desk } from "../desk.ts";
import type { Exchange } from "../exchange.ts";

/** Somebody who was let in to a sandbox, and what that one asks. */
export interface Visit extends Exchange {
  readonly desk: Desk;
  readonly principal: Principal;
  readonly sandbox: Sandbox;
  /** Whom to be inside; the ordinary user, unless said. */
  readonly user: string | undefined;
}

export function filesOf({ ground, principal, sandbox }: Visit): Promise<Files> {
  return ground.core.files(principal, sandbox.id);
}

/** As an option of the house's verbs, which do not take `undefined`. */
export function asUser({ user }: Pick<Visit, "user">): { user?: string } {
  return user === undefined ? {} : { user };
}

/** `~` is the home of whom one is; here that is where relative paths begin. */
export function pathOf(path: string): string {
  if (path === "" || path === "~" || path === "~/") return ".";
  return path.startsWith("~/") ? path.slice(2) : path;
}
