import { SandboxerError } from "@sandboxer/contract";

type Read = (text: string) => unknown;

const list: Read = (text) => text.split(",").flatMap((part) => part.trim() || []);
const number: Read = (text) => (/^\d+(?:\.\d+)?$/.test(text) ? Number(text) : text);
const flag: Read = (text) => (text === "1" || text === "true" ? true : text === "0" ? false : text);
const text: Read = (value) => value;

/** Each variable, where it stands in the file, and how it is read. */
const VARIABLES: readonly (readonly [name: string, path: string, read: Read])[] = [
  ["SANDBOXER_HOST", "listen.host", text],
  ["SANDBOXER_PORT", "listen.port", number],
  ["SANDBOXER_TLS_CERT", "tls.cert", text],
  ["SANDBOXER_TLS_KEY", "tls.key", text],
  ["SANDBOXER_INSECURE", "insecure", flag],
  ["SANDBOXER_LOG", "log.format", text],
  ["SANDBOXER_ALLOWED_HOSTS", "allowed.hosts", list],
  ["SANDBOXER_ALLOWED_ORIGINS", "allowed.origins", list],
  ["SANDBOXER_PREVIEW_HOST", "previewHost", text],
  ["SANDBOXER_E2B_INTERNET", "e2b.internet", flag],
  ["SANDBOXER_POOL", "pool", number],
  ["SANDBOXER_ALLOW_UNSAFE_RUNTIME", "allowUnsafeRuntime", list],
  ["SANDBOXER_DOCKER_REGISTRIES", "docker.registries", list],
  ["SANDBOXER_IMAGE_REGISTRIES", "images.registries", list],
  ["SANDBOXER_IMAGE_DEFAULT_REGISTRY", "images.defaultRegistry", text],
  ["SANDBOXER_IMAGE_CREDENTIALS", "images.credentials", text],
  ["SANDBOXER_DOCKER_GVISOR", "docker.gvisor", flag],
  ["SANDBOXER_REQUESTS_PER_SECOND", "limits.requestsPerSecond", number],
  ["SANDBOXER_CONCURRENT", "limits.concurrent", number],
];
const PRICE = /^SANDBOXER_PRICE_([A-Z0-9_]+?)(_PAUSED)?_MICRO_USD_PER_HOUR$/;

/** What the environment says, as the file would say it. */
export function fromEnvironment(environment: NodeJS.ProcessEnv): Record<string, unknown> {
  const said: Record<string, unknown> = {};
  for (const [name, path, read] of VARIABLES) {
    const value = environment[name];
    if (value) place(said, path, read(value));
  }
  for (const [name, value] of Object.entries(environment)) {
    const [, extension, paused] = PRICE.exec(name) ?? [];
    if (!extension || !value) continue;
    const id = extension.toLowerCase().replaceAll("_", "-");
    const member = paused ? "pausedMicroUsdPerHour" : "microUsdPerHour";
    place(said, `prices.${id}.${member}`, price(name, value));
  }
  return said;
}

/** The variable that a place in the file goes by, for messages. */
export function variableOf(path: string): string | undefined {
  return VARIABLES.find(([, known]) => path === known || path.startsWith(`${known}.`))?.[0];
}

/** A price of an extension's: SANDBOXER_PRICE_LOCAL_MICRO_USD_PER_HOUR for `local`, and so on. */
function price(name: string, value: string): number {
  if (/^\d{1,12}$/.test(value)) return Number(value);
  throw new SandboxerError("invalid_request", `${name} is not a whole number of micro-dollars`, {
    hint: "A dollar an hour is 1000000.",
  });
}

export function place(into: Record<string, unknown>, path: string, value: unknown): void {
  const [first = "", ...rest] = path.split(".");
  if (rest.length === 0) into[first] = value;
  else {
    const inner = (into[first] ?? {}) as Record<string, unknown>;
    into[first] = inner;
    place(inner, rest.join("."), value);
  }
}
