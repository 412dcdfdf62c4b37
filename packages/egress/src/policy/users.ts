import type { GuardedUsers } from "@sandboxer/contract";

/** Whether whoever has this id may go there at all. Pure; what is not understood allows nothing. */
export function userMayReach(users: GuardedUsers, uid: number, host: string, port: number): boolean {
  const own = users.own.find((one) => one.uid === uid);
  if (own) return own.rules === undefined || own.rules.some((rule) => covers(rule, host, port));
  return users.shared.every((rules) => rules.some((rule) => covers(rule, host, port)));
}

/** Whether a secret is put in for whoever has this id. */
export function userMayUse(users: GuardedUsers, uid: number, secret: string): boolean {
  const own = users.own.find((one) => one.uid === uid);
  if (own) return own.secrets?.includes(secret) ?? true;
  return users.sharedSecrets.every((names) => names.includes(secret));
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
