import type { SecretBinding } from "@sandboxer/contract";
import { InvalidArgumentError } from "commander";

const PLACES = ["header", "query", "body"] as const;

/** `host[:port][/path] place:name`. Given again, it adds. */
export function binding(text: string, before: readonly SecretBinding[] = []): SecretBinding[] {
  const [, host = "", port, path, place = "", name = ""] =
    /^([^\s:/]+)(?::(\d{1,5}))?(\/\S*)?\s+(\w+):(\S+)$/.exec(text) ?? [];
  const kind = PLACES.find((one) => one === place);
  if (host === "" || !kind) {
    throw new InvalidArgumentError(
      "Give a host and a place, as in 'api.example.com/v1/** header:x-api-key'.",
    );
  }
  const ports = port === undefined ? [443] : [Number(port)];
  return [...before, { host, ports, ...(path && { paths: [path] }), place: { in: kind, name } }];
}

/** As `--to` takes it. */
export function writtenAs({ host, ports, paths = [""], place }: SecretBinding): string {
  const at = ports.flatMap((port) => paths.map((path) => `${host}${port === 443 ? "" : `:${port}`}${path}`));
  return `${at.join(" ")} ${place.in}:${place.name}`;
}

export function sourceOf(from: string): { ref: string } | { command: string[] } {
  if (!from.startsWith("command:")) return { ref: from };
  return { command: from.slice("command:".length).split(/\s+/).filter(Boolean) };
}

/** One line of standard input; on a terminal it is asked for, and not shown. */
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
      if (/[\r\n]/.test(text)) break;
    }
  } finally {
    if (stdin.isTTY) {
      stdin.setRawMode(false);
      stderr.write("\n");
    }
  }
  return text.split(/[\r\n]/, 1)[0] ?? "";
}
