import { readFile } from "node:fs/promises";
import { SandboxerError, setSecretBodySchema } from "@sandboxer/contract";
import type { House } from "../house.ts";
import type { KeptSecret, Source } from "../store/secret-store.ts";

const COMMAND_PATIENCE_MS = 15_000;
/** Another vault is not asked about every connection. */
const KEPT_MS = 300_000;
const MOST_BYTES = 65_536;

export const purposeOf = (secretId: string): string => `secret:${secretId}`;

/** What a secret is, right now. `secret_unavailable` says where it was looked for, and nothing that was found. */
export async function currentValue(house: House, { id, version, source }: KeptSecret): Promise<string> {
  if (source.kind !== "command") return read(house, id, source);
  const kept = house.secretValues.get(id);
  if (kept?.version === version && house.clock.monotonicMs() - kept.atMs < KEPT_MS) return kept.value;
  const value = await read(house, id, source);
  house.secretValues.set(id, { value, version, atMs: house.clock.monotonicMs() });
  return value;
}

/** The same for one that is about to be written. */
export async function read(house: House, id: string, source: Source): Promise<string> {
  const text = await find(house, id, source).catch((cause) => {
    if (SandboxerError.is(cause)) throw cause;
    // Neither the output nor the error of a command: both may hold what must not be shown.
    throw unavailable(source, "it cannot be read");
  });
  const isKey = text.startsWith("-----BEGIN ");
  const value = isKey ? `${text.trim()}\n` : (text.split("\n", 1)[0]?.trim() ?? "");
  if (!setSecretBodySchema.shape.value.safeParse(value).success) {
    throw unavailable(
      source,
      "it is neither 8 to 8192 visible ASCII characters on the first line nor a private key of OpenSSH's",
    );
  }
  return value;
}

async function find({ sealer }: House, id: string, source: Source): Promise<string> {
  switch (source.kind) {
    case "vault":
      return sealer.open(purposeOf(id), source.sealed);
    case "env":
      return process.env[source.variable] ?? "";
    case "file":
      return readFile(source.path, "utf8");
    case "command": {
      const [program = "", ...args] = source.argv;
      const [{ execFile }, { promisify }] = await Promise.all([
        import("node:child_process"),
        import("node:util"),
      ]);
      const options = { timeout: COMMAND_PATIENCE_MS, maxBuffer: MOST_BYTES };
      return (await promisify(execFile)(program, args, options)).stdout;
    }
  }
}

function unavailable({ kind }: Source, reason: string): SandboxerError {
  return new SandboxerError("secret_unavailable", `a secret from ${kind}: ${reason}`);
}
