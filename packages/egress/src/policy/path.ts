/** A request's target in the one spelling that is judged and sent on. */
export interface Target {
  readonly path: string;
  /** Without the question mark; empty where there is none. */
  readonly query: string;
}

const PRINTABLE = /^[\x21-\x7e]+$/;
/** A backslash or a NUL in disguise, and a segment that some servers take for `..`. */
const DISGUISED = /%(?:5c|00)/i;
const SLASH = /%2f/gi;
const DOTS_WITH_PARAMETERS = /(?:^|\/)\.{1,2};/;
const UNRESERVED = /^[A-Za-z0-9._~-]$/;

/**
 * `undefined` for what two servers could read differently. Dots are resolved, escapes that need
 * not be are undone, and the rest are written in capitals, so that one path has one spelling.
 */
export function canonicalTarget(target: string): Target | undefined {
  if (!PRINTABLE.test(target) || !target.startsWith("/") || target.startsWith("//")) return undefined;
  if (target.includes("#") || target.includes("\\")) return undefined;
  const cut = target.indexOf("?");
  const raw = cut < 0 ? target : target.slice(0, cut);
  const query = cut < 0 ? "" : target.slice(cut + 1);
  if (DISGUISED.test(raw)) return undefined;
  const plain = undoEscapes(raw);
  if (plain === undefined || DOTS_WITH_PARAMETERS.test(plain)) return undefined;
  const path = resolveDots(plain);
  // Whoever takes an escaped slash for one must not climb by it, nor find nothing between two.
  const [, other = path] = readingsOf(path);
  const isHarmless =
    other === path ||
    (resolveDots(other) === other && !other.includes("//") && !DOTS_WITH_PARAMETERS.test(other));
  return path.startsWith("//") || !isHarmless ? undefined : { path, query };
}

/** As it is written, and as it is to servers that take an escaped slash (`@scope%2Fname`) for a slash. */
export function readingsOf(path: string): string[] {
  if (!path.includes("%2")) return [path];
  return [...new Set([path.replaceAll(SLASH, "%2F"), path.replaceAll(SLASH, "/")])];
}

function undoEscapes(path: string): string | undefined {
  let isBroken = false;
  const plain = path.replaceAll(/%(.{0,2})/g, (whole, digits: string) => {
    if (!/^[0-9a-f]{2}$/i.test(digits)) {
      isBroken = true;
      return whole;
    }
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return UNRESERVED.test(character) ? character : `%${digits.toUpperCase()}`;
  });
  return isBroken ? undefined : plain;
}

function resolveDots(path: string): string {
  const kept: string[] = [];
  const segments = path.split("/").slice(1);
  for (const [at, segment] of segments.entries()) {
    const isLast = at === segments.length - 1;
    if (segment === "..") kept.pop();
    else if (segment !== ".") kept.push(segment);
    if (isLast && (segment === "." || segment === "..")) kept.push("");
  }
  return `/${kept.join("/")}`;
}

/** `*` is anything but a slash, `**` is anything; everything else means itself. */
export function compilePath(glob: string): RegExp {
  const source = glob
    .split(/(\*{1,2})/)
    .map((part) =>
      part === "**" ? ".*" : part === "*" ? "[^/]*" : part.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"),
    )
    .join("");
  return new RegExp(`^${source}$`, "s");
}

/** All that a query says of a name. */
export function queryValues(query: string, name: string): string[] {
  return new URLSearchParams(query).getAll(name);
}
