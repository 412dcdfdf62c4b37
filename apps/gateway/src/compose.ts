import { join } from "node:path";
import type { Core } from "@sandboxer/core";
import { loadConfig } from "./config/load.ts";
import type { Config } from "./config/schema.ts";
import { createE2bFront, type E2bFront } from "./e2b/front.ts";
import { responseOf } from "./exchange.ts";
import { createGround } from "./ground.ts";
import { announceRunning, homeDirectory } from "./home.ts";
import { type InstallationOptions, openInstallation } from "./installation.ts";
import { lockHome } from "./lock.ts";
import { createLog, type Log } from "./log.ts";
import { makeHome } from "./make-home.ts";
import { createLimits } from "./observe/limits.ts";
import { openOwnCertificate } from "./own-certificate.ts";
import { previewPlace } from "./previews/address.ts";
import { createPreviews } from "./previews/previews.ts";
import { createApp } from "./rest/app.ts";
import type { Allowed } from "./rest/guard.ts";
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
  const { home = homeDirectory() } = options;
  const closers: (() => unknown)[] = [];
  /** Last opened, first closed; also what undoes an opening that fails half-way. */
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    makeHome(home);
    const config = options.config ?? (await loadConfig({ home }));
    const { log = createLog(config.log), pool = config.pool ?? 0 } = options;
    if (options.listen) closers.push(lockHome(home));
    const {
      core,
      apiKey,
      close: closeInstallation,
    } = await openInstallation(home, log, { ...options, config, pool, resident: options.listen !== false });
    closers.push(closeInstallation);
    await core.start();
    const place = previewPlace(config.previewHost);
    const limits = options.listen ? { limits: createLimits(config.limits) } : {};
    const ground = createGround(core, { previews: { place }, ...limits });
    const allowed = allowedOf(config, options.listen);
    const app = createApp(ground, log, allowed);
    const fetch = async (url: string, init?: RequestInit) => responseOf(await app(new Request(url, init)));
    if (!options.listen) return { fetch, apiKey, core, close };

    const sockets = createSockets(ground, log, allowed);
    const previews = createPreviews(ground, log, {
      allowed,
      openly: (address, incoming) => e2b.openly(address, incoming),
    });
    const e2b: E2bFront = createE2bFront(ground, log, {
      allowed,
      previews,
      tagsFile: join(home, "e2b-tags.json"),
      buildsFile: join(home, "e2b-builds.json"),
      ...config.e2b,
    });
    closers.push(() => e2b.close());
    const ownCertificate = options.listen.tls ? undefined : openOwnCertificate(home, place.host);
    const server = await listen({ app, sockets, previews, e2b }, { ...options.listen, ownCertificate });
    ground.previews.url = server.url;
    closers.push(() => server.close());
    closers.push(announceRunning(home, server.url));
    return { fetch, url: server.url, apiKey, core, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The name it listens under is its own, whatever else it answers to. */
function allowedOf(config: Config, listening: Listen | false): Allowed {
  if (!listening) return config.allowed;
  const { host } = listening;
  const own = host.includes(":") ? `[${host}]` : host;
  return { ...config.allowed, hosts: [...config.allowed.hosts, own] };
}
