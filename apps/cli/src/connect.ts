import type { CreateBody } from "@sandboxer/contract";
import type { Client, Once, Sandbox } from "@sandboxer/sdk";

/** What a command that only creates and uses sandboxes needs: a client has it, and so has core. */
interface Sandboxes {
  create(body: CreateBody, once?: Once): Promise<Handle>;
  get(idOrName: string): Promise<Handle>;
}
export type Handle = Pick<Sandbox, "id" | "info" | "exec" | "workspace" | "metrics" | "destroy"> & {
  through(attachmentId: string): Pick<Sandbox, "exec">;
};

/** Where a gateway is, and the key for it. */
export interface Found {
  readonly url: string;
  readonly apiKey: string;
  readonly home: string;
}

/** The gateway that SANDBOXER_URL names, or the one that runs for this home. */
export async function findGateway(): Promise<Found | undefined> {
  const home = await homeOfThis();
  const { findRootKey, findRunning } = await import("@sandboxer/gateway/home");
  const running = findRunning(home)?.url;
  const url = process.env.SANDBOXER_URL || running;
  if (!url) return undefined;
  // The key in this home opens this home's gateway; no other is ever shown it.
  const apiKey = process.env.SANDBOXER_API_KEY || (url === running ? findRootKey(home) : undefined);
  if (!apiKey) {
    const { SandboxerError } = await import("@sandboxer/contract");
    throw new SandboxerError("unauthenticated", `there is no key for ${url}`, {
      hint: "Set SANDBOXER_API_KEY to a key of that gateway.",
    });
  }
  return { url, apiKey, home };
}

async function connectToRunning(): Promise<Client | undefined> {
  const found = await findGateway();
  if (!found) return undefined;
  const { createClient } = await import("@sandboxer/sdk");
  return createClient(found);
}

/**
 * For what goes on for hours: where the gateway does not answer, the one that runs for this home now
 * is asked instead. A gateway that starts again may listen elsewhere.
 */
export function findingAgain(first: Client): <T>(ask: (client: Client) => Promise<T>) => Promise<T> {
  let client = first;
  return async (ask) => {
    try {
      return await ask(client);
    } catch (error) {
      const { SandboxerError } = await import("@sandboxer/contract");
      if (!SandboxerError.is(error) || error.code !== "extension_unavailable") throw error;
      const found = await connectToRunning();
      if (!found) throw error;
      client = found;
      return ask(found);
    }
  };
}

/**
 * Gives a client of the gateway to the work; where none runs, of one opened within this process.
 * The engine's sandboxes outlive their gateway, so that works for every command.
 */
export async function withClient<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const { withMeant } = await import("./meant.ts");
  const guided = (client: Client) =>
    withMeant(
      () => work(client),
      () => livingOf(client),
    );
  const running = await connectToRunning();
  if (running) return guided(running);
  const home = await homeOfThis();
  const [{ openGateway, silent }, { createClient }] = await Promise.all([
    import("@sandboxer/gateway"),
    import("@sandboxer/sdk"),
  ]);
  const { apiKey, fetch, close } = await openGateway({ home, listen: false, log: silent });
  try {
    return await guided(createClient({ url: "http://localhost", apiKey, fetch }));
  } finally {
    await close();
  }
}

/**
 * The same for what is to be quick: without a gateway, core is asked directly and HTTP is not even
 * loaded. `tethered`: what is created then ends with this process, however that comes.
 */
export async function withSandboxes<T>(
  work: (sandboxes: Sandboxes) => Promise<T>,
  { tethered = false } = {},
): Promise<T> {
  const { withMeant } = await import("./meant.ts");
  const running = await connectToRunning();
  if (running)
    return withMeant(
      () => work(running.sandboxes),
      () => livingOf(running),
    );
  const home = await homeOfThis();
  const { openWithin } = await import("@sandboxer/gateway/within");
  const { sandboxes, close } = await openWithin(home, { tethered });
  try {
    return await withMeant(
      () => work(sandboxes),
      () => sandboxes.living(),
    );
  } finally {
    await close();
  }
}

/** Enough to find the one that was meant. */
export async function livingOf({ sandboxes }: Client) {
  const { sandboxes: page } = await sandboxes.list({ states: ["running", "paused", "provisioning"] });
  return page.map(({ info }) => info);
}

async function homeOfThis(): Promise<string> {
  return (await import("@sandboxer/gateway/home")).homeDirectory();
}
