import { readFile } from "node:fs/promises";
import { SandboxerError } from "@sandboxer/contract";

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

interface DockerConfig {
  readonly auths?: Readonly<Record<string, { readonly auth?: string }>>;
}

/**
 * Whoever the operator is to a registry, from a file as docker writes it. Read anew each time, so
 * that a login counts at once; nothing of it is kept, logged, or shown to a sandbox.
 */
export async function credentialsFor(
  registry: string,
  path: string | undefined,
): Promise<Credentials | undefined> {
  if (path === undefined) return undefined;
  const config = await read(path);
  const found = Object.entries(config.auths ?? {}).find(([name]) => hostOf(name) === registry)?.[1].auth;
  if (found === undefined) return undefined;
  const text = Buffer.from(found, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 0) return undefined;
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

async function read(path: string): Promise<DockerConfig> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as DockerConfig;
  } catch {
    // Its text could be in the cause, and with it a password.
    throw new SandboxerError("extension_failed", `images.credentials: ${path} cannot be read as JSON`, {
      hint: "It is a file as `docker login` writes it.",
    });
  }
}

/** Older files have whole addresses. */
function hostOf(name: string): string {
  return name
    .replace(/^https?:\/\//, "")
    .replace(/\/.*$/, "")
    .toLowerCase();
}
