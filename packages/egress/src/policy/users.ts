import type { GuardedUsers } from "@sandboxer/contract";

/** The id of somebody who may be anybody: they may do what everybody may. */
export const NOBODY_KNOWS = -1;

/** Whether whoever has this id may go there at all. Pure; what is not understood allows nothing. */
export function userMayReach(users: GuardedUsers, uid: number, host: string, port: number): boolean {
  const own = users.own.find((one) => one.uid === uid);
  const mayGo = (rules: readonly string[] | undefined) =>
    rules === undefined || rules.some((rule) => covers(rule, host, port));
  if (own) return mayGo(own.rules);
  if (uid === NOBODY_KNOWS && !users.own.every(({ rules }) => mayGo(rules))) return false;
  return users.shared.every(mayGo);
}

/** Whether a secret is put in for whoever has this id. */
export function userMayUse(users: GuardedUsers, uid: number, secret: string): boolean {
  const own = users.own.find((one) => one.uid === uid);
  const mayUse = (names: readonly string[] | undefined) => names?.includes(secret) ?? true;
  if (own) return mayUse(own.secrets);
  if (uid === NOBODY_KNOWS && !users.own.every(({ secrets }) => mayUse(secrets))) return false;
  return users.sharedSecrets.every(mayUse);
}

export function attachmentOf(users: GuardedUsers, uid: number): string | undefined {
  return users.own.find((one) => one.uid === uid)?.attachmentId;
}

/** `api.example.com`, `*.example.com`, `**.example.com`, `**`; each perhaps with a port. */
function covers(rule: string, host: string, port: number): boolean {
  const [, pattern = "", wanted] = /^([^:]+)(?::(\d+))?$/.exec(rule) ?? [];
  if (wanted !== undefined && Number(wanted) !== port) return false;
  if (pattern === "**" || pattern === host) return true;
  if (pattern.startsWith("**.")) return host.endsWith(pattern.slice(2)) && host.length > pattern.length - 2;
  if (!pattern.startsWith("*.")) return false;
  const cut = host.indexOf(".");
  return cut > 0 && host.slice(cut + 1) === pattern.slice(2);
}
