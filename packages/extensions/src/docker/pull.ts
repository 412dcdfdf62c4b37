import { SandboxerError } from "@sandboxer/contract";
import type { DockerApi } from "./api.ts";

const SAY_EVERY_MS = 2_000;

interface Pull {
  readonly ref: string;
  /** Where images may come from; none, unless the operator names some. */
  readonly registries: readonly string[];
  readonly progress?: ((message: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Line {
  readonly id?: string;
  readonly status?: string;
  readonly error?: string;
}

/**
 * Gets an image that the daemon does not have. Whoever names an image names the host that the
 * daemon then talks to, so only hosts that the operator listed are asked.
 */
export async function pullImage(api: DockerApi, { ref, registries, progress, signal }: Pull): Promise<void> {
  const registry = registryOf(ref);
  if (!registries.includes(registry)) throw missing(ref, registry);
  const layers = new Map<string, string>();
  let failure: string | undefined;
  let saidAtMs = Number.NEGATIVE_INFINITY;
  const hear = (text: string): void => {
    const { id, status = "", error } = parse(text);
    failure ??= error;
    if (id) layers.set(id, status);
    if (performance.now() - saidAtMs < SAY_EVERY_MS || layers.size === 0) return;
    saidAtMs = performance.now();
    progress?.(`pulling ${ref}: ${countDone(layers)} of ${layers.size} parts`);
  };
  progress?.(`pulling ${ref} from ${registry}`);
  const path = `/images/create?fromImage=${encodeURIComponent(withTag(ref))}`;
  const status = await api.stream("POST", path, hear, signal);
  if (status === 200 && failure === undefined) return;
  throw new SandboxerError("invalid_request", `docker cannot pull ${ref}: ${failure ?? `status ${status}`}`, {
    hint: "Check the name and the tag, and that the daemon can reach the registry.",
  });
}

/** Stands for the one that the daemon asks when a name says none. */
const DEFAULT_REGISTRY = "default";

/** As docker reads it: the first part is a host when it looks like one. */
export function registryOf(ref: string): string {
  const [first = "", ...rest] = ref.split("/");
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  return isHost ? first : DEFAULT_REGISTRY;
}

/** Without a tag the daemon would pull every one there is. */
function withTag(ref: string): string {
  return /[:@][^/]*$/.test(ref) ? ref : `${ref}:latest`;
}

function countDone(layers: ReadonlyMap<string, string>): number {
  return [...layers.values()].filter((status) => /complete|exists/i.test(status)).length;
}

function missing(ref: string, registry: string): SandboxerError {
  // Another extension may have it.
  return new SandboxerError("extension_unavailable", `docker has no image ${ref}`, {
    hint: `Get it with \`docker pull ${ref}\`, or list ${registry} under docker.registries in the configuration.`,
  });
}

function parse(text: string): Line {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return {};
  }
}
