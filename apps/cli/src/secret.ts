import type { SecretBinding } from "@sandboxer/contract";
import { InvalidArgumentError } from "commander";

const PLACES = ["header", "query", "body"] as const;

/** `host[:port][/path] place:name`, `… aws-sigv4:region/service` or `… ssh:ask`. Given again, it adds. */
export function binding(text: string, before: readonly SecretBinding[] = []): SecretBinding[] {
  const [, host = "", port, path, place = "", name = ""] =
    /^([^\s:/]+)(?::(\d{1,5}))?(\/\S*)?\s+([\w-]+):(\S+)$/.exec(text) ?? [];
  const where =
    place === "aws-sigv4" ? scopeOf(name) : place === "ssh" ? loginsOf(name) : placeOf(place, name);
  if (host === "" || !where) {
    throw new InvalidArgumentError(
      "Give a host and a place, as in 'api.example.com/v1/** header:x-api-key'.",
    );
  }
  const ports = port === undefined ? [place === "ssh" ? 22 : 443] : [Number(port)];
  return [...before, { host, ports, ...(path && { paths: [path] }), place: where }];
}

function placeOf(place: string, name: string): SecretBinding["place"] | undefined {
  const kind = PLACES.find((one) => one === place);
  return kind && { in: kind, name };
}

function scopeOf(text: string): SecretBinding["place"] | undefined {
  const [, region, service] = /^([^/]+)\/([^/]+)$/.exec(text) ?? [];
  return region && service ? { in: "aws-sigv4", region, service } : undefined;
}

/** `allow@SHA256:…,SHA256:…`, `ask` or `deny`. */
function loginsOf(text: string): SecretBinding["place"] | undefined {
  const [, sign, keys] = /^(allow|ask|deny)(?:@(\S+))?$/.exec(text) ?? [];
  if (sign !== "allow" && sign !== "ask" && sign !== "deny") return undefined;
  return { in: "ssh", sign, ...(keys && { hostKeys: keys.split(",") }) };
}

function placeText(place: SecretBinding["place"]): string {
  if (place.in === "ssh") return [`ssh:${place.sign}`, place.hostKeys?.join(",")].filter(Boolean).join("@");
  return place.in === "aws-sigv4"
    ? `${place.in}:${place.region}/${place.service}`
    : `${place.in}:${place.name}`;
}

/** As `--to` takes it. */
export function writtenAs({ host, ports, paths = [""], place }: SecretBinding): string {
  const usual = place.in === "ssh" ? 22 : 443;
  const at = ports.flatMap((port) =>
    paths.map((path) => `${host}${port === usual ? "" : `:${port}`}${path}`),
  );
  return `${at.join(" ")} ${placeText(place)}`;
}

export function sourceOf(from: string): { ref: string } | { command: string[] } {
  if (!from.startsWith("command:")) return { ref: from };
  return { command: from.slice("command:".length).split(/\s+/).filter(Boolean) };
}

/** One line of standard input, or a key of several; on a terminal it is asked for, and not shown. */
export async function readSecret(): Promise<string> {
  const { stdin, stderr } = process;
  if (stdin.isTTY) {
    stderr.write("secret: ");
    stdin.setRawMode(true);
  }
  let text = "";
  try {
    for await (const chunk of stdin.setEncoding("utf8")) {
      text += chunk;
      if (text.includes("\u0003")) process.exit(130);
      if (text.startsWith("-----BEGIN ") ? /-----END [^-]+-----/.test(text) : /[\r\n]/.test(text)) break;
    }
  } finally {
    if (stdin.isTTY) {
      stdin.setRawMode(false);
      stderr.write("\n");
    }
  }
  if (text.startsWith("-----BEGIN ")) return `${text.replaceAll(/\r\n?/g, "\n").trim()}\n`;
  return text.split(/[\r\n]/, 1)[0] ?? "";
}
