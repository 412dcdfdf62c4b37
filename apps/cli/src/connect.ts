import { SandboxerError } from "@sandboxer/contract";
import { type Client, createClient } from "@sandboxer/sdk";

interface Connected {
  readonly client: Client;
  close(): Promise<void>;
}

/**
 * The gateway to use: the one SANDBOXER_URL names, the one that runs for this home, or one opened
 * within this process. The engine's sandboxes outlive their gateway, so the last works for every
 * command.
 */
async function connect(): Promise<Connected> {
  const { findRootKey, findRunning, homeDirectory } = await import("@sandboxer/gateway/home");
  const home = homeDirectory();
  const running = findRunning(home)?.url;
  const url = process.env.SANDBOXER_URL || running;
  if (url) {
    // The key in this home opens this home's gateway; no other is ever shown it.
    const apiKey = process.env.SANDBOXER_API_KEY || (url === running ? findRootKey(home) : undefined);
    if (!apiKey) {
      throw new SandboxerError("unauthenticated", `there is no key for ${url}`, {
        hint: "Set SANDBOXER_API_KEY to a key of that gateway.",
      });
    }
    return { client: createClient({ url, apiKey }), close: async () => {} };
  }
  const { openGateway, silent } = await import("@sandboxer/gateway");
  const gateway = await openGateway({ home, listen: false, log: silent });
  const client = createClient({ url: "http://localhost", apiKey: gateway.apiKey, fetch: gateway.fetch });
  return { client, close: () => gateway.close() };
}

/** Gives a client to the work and lets go of it afterwards, whatever happens. */
export async function withClient<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const { client, close } = await connect();
  try {
    return await work(client);
  } finally {
    await close();
  }
}
