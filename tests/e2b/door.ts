import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, openGateway, silent } from "@sandboxer/gateway";
import type { SandboxOpts } from "e2b";
import { removeEngine } from "../conformance/remove-engine.ts";

/** A gateway, and what E2B's clients have to be told to use it. */
export interface Door {
  readonly gateway: Gateway;
  readonly url: string;
  readonly home: string;
  /** As options of a call; the variables say the same. */
  readonly options: Pick<SandboxOpts, "apiKey" | "apiUrl" | "sandboxUrl" | "timeoutMs">;
  /** For programs of their own. */
  readonly variables: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Of a home of its own, or of one that a gateway before it has left. */
export async function openDoor(before?: string): Promise<Door> {
  const home = before ?? (await mkdtemp(join(tmpdir(), "sandboxer-e2b-")));
  const gateway = await openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: silent });
  const { apiKey, url = "" } = gateway;
  return {
    gateway,
    url,
    home,
    options: { apiKey, apiUrl: url, sandboxUrl: url, timeoutMs: 120_000 },
    variables: { E2B_API_KEY: apiKey, E2B_API_URL: url, E2B_SANDBOX_URL: url, E2B_VOLUME_API_URL: url },
    async close() {
      await gateway.close();
      await removeEngine(join(home, "engine"), home);
    },
  };
}
