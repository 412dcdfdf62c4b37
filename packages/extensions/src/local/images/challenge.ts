/** What a registry asks for before it answers. */
export type Challenge =
  | { readonly scheme: "basic" }
  | { readonly scheme: "bearer"; readonly realm: string; readonly service?: string; readonly scope?: string };

const PARAMETER = /([a-z_]+)=(?:"([^"]*)"|([^\s",]+))/gi;

/** Of several, the one that can be met. */
export function parseChallenge(header: string | null): Challenge | undefined {
  if (header === null) return undefined;
  const bearer = /(?:^|,\s*)bearer\s+(.*)$/is.exec(header)?.[1];
  if (bearer !== undefined) {
    const found = new Map<string, string>();
    for (const [, name = "", quoted, plain] of bearer.matchAll(PARAMETER)) {
      found.set(name.toLowerCase(), quoted ?? plain ?? "");
    }
    const [realm, service, scope] = ["realm", "service", "scope"].map((name) => found.get(name));
    if (realm) return { scheme: "bearer", realm, ...(service && { service }), ...(scope && { scope }) };
  }
  return /(?:^|,\s*)basic(?:\s|$)/i.test(header) ? { scheme: "basic" } : undefined;
}
