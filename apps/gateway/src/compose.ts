import { SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { createGround } from "./ground.ts";
import { announceRunning, homeDirectory, makeHome } from "./home.ts";
import { type InstallationOptions, openInstallation } from "./installation.ts";
import { lockHome } from "./lock.ts";
import { createLog, type Log } from "./log.ts";
import { previewPlace } from "./previews/address.ts";
import { createPreviews } from "./previews/previews.ts";
import { createApp } from "./rest/app.ts";
import { type Listen, listen } from "./serve.ts";
import { createSockets } from "./sockets/upgrade.ts";

export interface GatewayOptions extends InstallationOptions {
  /** Everything this installation keeps. SANDBOXER_HOME or ~/.sandboxer, unless said otherwise. */
  readonly home?: string;
  /** `false` opens the gateway for this process alone, through `fetch`. */
  readonly listen: Listen | false;
  readonly log?: Log;
}

export interface Gateway {
  /** The whole API without a socket. */
  fetch(url: string, init?: RequestInit): Promise<Response>;
  readonly url?: string;
  /** The root key. */
  readonly apiKey: string;
  readonly core: Core;
  /** Lets go of everything; sandboxes live on. */
  close(): Promise<void>;
}

/** An installation with HTTP in front of it. */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { home = homeDirectory(), log = createLog(), pool = poolByEnvironment() } = options;
  const closers: (() => unknown)[] = [];
  /** Last opened, first closed; also what undoes an opening that fails half-way. */
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    makeHome(home);
    if (options.listen) closers.push(lockHome(home));
    const {
      core,
      apiKey,
      close: closeInstallation,
    } = await openInstallation(home, log, { ...options, pool, resident: options.listen !== false });
    closers.push(closeInstallation);
    await core.start();
    const place = previewPlace(process.env.SANDBOXER_PREVIEW_HOST);
    const ground = createGround(core, { place });
    const allowed = allowedByEnvironment();
    const app = createApp(ground, log, allowed);
    const fetch = (url: string, init?: RequestInit) => Promise.resolve(app.fetch(new Request(url, init)));
    if (!options.listen) return { fetch, apiKey, core, close };

    const sockets = createSockets(ground, log, allowed);
    const previews = createPreviews(core, place, log);
    const answering = { fetch: async (request: Request) => app.fetch(request), sockets, previews };
    const server = await listen(answering, options.listen);
    ground.previews.url = server.url;
    closers.push(() => server.close());
    closers.push(announceRunning(home, server.url));
    return { fetch, url: server.url, apiKey, core, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function poolByEnvironment(): number {
  const text = process.env.SANDBOXER_POOL || "0";
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw new SandboxerError("invalid_request", "SANDBOXER_POOL is a number from 0 to 999");
}

function allowedByEnvironment() {
  const listOf = (text = "") => text.split(",").flatMap((part) => part.trim() || []);
  return {
    hosts: listOf(process.env.SANDBOXER_ALLOWED_HOSTS?.toLowerCase()),
    origins: listOf(process.env.SANDBOXER_ALLOWED_ORIGINS),
  };
}
